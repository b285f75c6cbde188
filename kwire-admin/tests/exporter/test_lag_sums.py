"""Sums of lags in records. An unknown lag is counted as unknown, and is never a part of a sum of 0."""

from __future__ import annotations

import random
from array import array
from uuid import UUID

from kwire.messages.kafka.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kwire_admin.exporter.group_record import GroupTopic, MonitoredGroup
from kwire_admin.exporter.offset_history import UNKNOWN
from kwire_admin.exporter.topic_record import MonitoredTopic
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
