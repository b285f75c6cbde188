"""Tests of the limits on partitions of a request and of the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.create_topic_v2 import TopicCreation
from tests.cluster.controller.clusters import SETTINGS, assignment, cluster_of, codes, creation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.controller.backend import Outcome

LIMITED = replace(SETTINGS, max_request_partitions=10, max_partitions=25)


def counted(name: str, partitions: int) -> TopicCreation:
    return TopicCreation(topic_name=name, partitions=partitions, replication_factor=1)


def reasons(outcomes: Sequence[Outcome]) -> list[str]:
    return [one.error.reason for one in outcomes if one.error is not None]


@pytest.mark.parametrize("form", ["counts", "assignments"])
async def test_topics_beyond_the_limit_of_a_request_are_rejected(form: str) -> None:
    async with cluster_of(1, settings=LIMITED) as cluster:
        sizes = {"a": 6, "too-large": 11, "b": 5, "c": 4, "d": 1}
        requests = [
            counted(name, size) if form == "counts" else creation(name, *[(1,)] * size) for name, size in sizes.items()
        ]
        outcomes = await cluster.active.create_topics(requests)
        assert {one.topic: one.error.code if one.error else 0 for one in outcomes} == {
            "a": 0,
            "too-large": 1002,
            "b": 1002,
            "c": 0,
            "d": 1002,
        }
        assert reasons(outcomes)[0] == "the request creates 17 partitions: at most 10 are allowed in one request"
        assert await codes(cluster.active.create_topics([counted("d", 1)])) == {"d": 0}


async def test_partitions_beyond_the_limit_of_the_cluster_are_rejected() -> None:
    async with cluster_of(1, settings=LIMITED) as cluster:
        for name in "ab":
            assert await codes(cluster.active.create_topics([counted(name, 10)])) == {name: 0}
        outcomes = await cluster.active.create_topics([counted("c", 6), counted("d", 4)])
        assert reasons(outcomes) == [
            "the cluster would have 26 partitions: at most 25 are allowed, so delete topics first"
        ]
        added = [TopicAlteration(topic_name="d", partitions=6), TopicAlteration(topic_name="a", partitions=11)]
        assert await codes(cluster.active.alter_topics(added)) == {"d": 1002, "a": 0}
        assert await codes(cluster.active.delete_topics(["b"])) == {"b": 0}
        await cluster.wait_idle()
        assert await codes(cluster.active.create_topics([counted("e", 10)])) == {"e": 0}


async def test_added_partitions_beyond_the_limit_of_a_request_are_rejected() -> None:
    async with cluster_of(1, 2, settings=LIMITED) as cluster:
        await cluster.active.create_topics([counted("a", 1), counted("b", 1), counted("c", 1)])
        outcomes = cluster.active.alter_topics(
            [
                TopicAlteration(topic_name="a", partitions=8),
                TopicAlteration(topic_name="b", replica_assignment=assignment(*[(1,)] * 4, first=1)),
                TopicAlteration(topic_name="c", partitions=4),
            ]
        )
        assert await codes(outcomes) == {"a": 0, "b": 1002, "c": 0}
