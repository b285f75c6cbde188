"""Sums of lags in records. An unknown lag is counted as unknown, and is never a part of a sum of 0."""

from __future__ import annotations

import random
from array import array
from uuid import UUID

from kwire.messages.kafka.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kwire.testing import FakeCluster
from kwire_admin.exporter.group_record import GroupTopic, MonitoredGroup
from kwire_admin.exporter.offset_history import UNKNOWN
from kwire_admin.exporter.topic_record import MonitoredTopic
from tests.exporter.scraping import feed, scrape, view
from tests.exporter.test_lag_seconds import topic_of

UNSTARTED = -1
"""The start offset of a partition that a share group has not begun to read."""


def test_partitions_that_a_share_group_has_not_begun_to_read_are_unknown() -> None:
    source = random.Random(39)
    for _ in range(200):
        # A start offset, or none, and the number of records after it that wait.
        drawn = [(source.choice([UNSTARTED, 3]), source.choice([0, 0, 7])) for _ in range(source.randint(1, 4))]
        topic = MonitoredTopic(topic_of(len(drawn)))
        topic.newest[:] = array("q", [100] * len(drawn))
        group = MonitoredGroup("queue")
        read = group.topics["orders"] = GroupTopic(group, "orders")
        read.update(
            DescribeShareGroupOffsetsResponseTopic(
                topic_name="orders",
                topic_id=UUID(int=1),
                partitions=tuple(
                    DescribeShareGroupOffsetsResponsePartition(
                        partition_index=index,
                        start_offset=start,
                        leader_epoch=0,
                        lag=-1 if start == UNSTARTED else waiting,
                        error_code=0,
                    )
                    for index, (start, waiting) in enumerate(drawn)
                ),
            )
        )
        read.evaluate(topic, with_ages=False)
        unknown = [index for index, (start, _) in enumerate(drawn) if start == UNSTARTED]
        known = [waiting for start, waiting in drawn if start != UNSTARTED]
        expected = UNKNOWN if not known or (unknown and not sum(known)) else sum(known)
        assert [*read.uncommitted] == unknown
        assert (read.unknown_lags, read.lag_sum, group.lag) == (len(unknown), expected, expected), drawn


def test_groups_that_no_broker_knows_are_marked() -> None:
    """Their series are missing, so the partitions of the internal topic without a leader have one."""
    source = random.Random(40)
    for _ in range(10):
        counts = {topic: source.randint(1, 5) for topic in ("__consumer_offsets", "__transaction_state", "orders")}
        lost = {topic: source.randint(0, count) for topic, count in counts.items()}
        with FakeCluster(1) as cluster:
            for topic, count in counts.items():
                cluster.create_topics([topic], count, internal=topic != "orders")
                for partition in range(lost[topic]):
                    cluster.remove_leader(topic, partition)
            ours = view(topics="orders")
            feed(ours, cluster)
        expected = {(topic,): count for topic, count in lost.items() if count and topic != "orders"}
        assert scrape(ours).of("kafka_unknown_coordinator_partitions") == expected
