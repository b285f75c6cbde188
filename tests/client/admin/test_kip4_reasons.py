"""Reasons for the error codes of the KIP-4 drafts, which have no texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import NewTopic, TopicChange
from kwire.client.admin.kip4_reasons import change_reason, creation_reason, reassignment_reason

if TYPE_CHECKING:
    from collections.abc import Mapping

BROKERS = (1, 2, 3)
LIMITS = (
    "99999 partitions are more than one request may create or than the cluster may have "
    "(admin.request.max.partitions, admin.cluster.max.partitions)"
)


@pytest.mark.parametrize(
    ("code", "topic", "reason"),
    [
        (1002, NewTopic(), "the number of partitions is missing: give it, or an assignment"),
        (1002, NewTopic(partitions=0), "0 is not a number of partitions: a topic has at least 1"),
        (
            1002,
            NewTopic(partitions=99_999),
            LIMITS,
        ),
        (1004, NewTopic(partitions=1), "the replication factor is missing: give it, or an assignment"),
        (1004, NewTopic(replication_factor=0), "0 is not a replication factor: a partition has at least 1 replica"),
        (
            1004,
            NewTopic(replication_factor=4),
            "a replication factor of 4 needs as many live brokers, and there are 3",
        ),
        (1005, NewTopic(assignment={0: []}), "partition 0 has no replicas"),
        (1005, NewTopic(assignment={0: [1], 1: [2, 2]}), "partition 1 names a broker twice: 2,2"),
        (1005, NewTopic(assignment={0: [1, 7]}), "the assignment names brokers that are not live: 7"),
        (1005, NewTopic(assignment={1: [1]}), "the assignment has the partitions 1: expected all from 0 on"),
        (1005, NewTopic(assignment={0: [1], 1: [1, 2]}), "partitions have different numbers of replicas"),
        (
            1006,
            NewTopic(configs={"retention.ms": "x", "a": "1"}),
            "unknown key or invalid value among the configs a=1, retention.ms=x",
        ),
        (1001, NewTopic(), None),
    ],
)
def test_reason_why_a_topic_was_not_created(code: int, topic: NewTopic, reason: str | None) -> None:
    assert creation_reason(code, topic, BROKERS) == reason


@pytest.mark.parametrize(
    ("code", "change", "reason"),
    [
        (1003, TopicChange(partitions=2), "the topic has more than 2 partitions, and partitions cannot be removed"),
        (
            1004,
            TopicChange(replication_factor=5),
            "a replication factor of 5 needs as many live brokers, and there are 3",
        ),
        (1005, TopicChange(assignment={4: [9]}), "the assignment names brokers that are not live: 9"),
        (1005, TopicChange(), None),
        (
            1006,
            TopicChange(set_configs={"b": "1"}, delete_configs=["a"]),
            "unknown key or invalid value among the configs b=1, a",
        ),
    ],
)
def test_reason_why_a_topic_was_not_changed(code: int, change: TopicChange, reason: str | None) -> None:
    assert change_reason(code, change, BROKERS) == reason


@pytest.mark.parametrize(
    ("code", "targets", "reason"),
    [
        (3, {5: [1], 6: [1]}, "the topic does not exist, or has no partition 5, 6"),
        (
            3,
            {index: [1] for index in range(7)},
            "the topic does not exist, or has no partition 0, 1, 2, 3, 4, and 2 more",
        ),
        (1005, {0: [1, 1]}, "partition 0 names a broker twice: 1,1"),
        (1009, {0: [1]}, None),
    ],
)
def test_reason_why_partitions_were_not_reassigned(
    code: int, targets: Mapping[int, list[int]], reason: str | None
) -> None:
    assert reassignment_reason(code, targets, BROKERS) == reason
