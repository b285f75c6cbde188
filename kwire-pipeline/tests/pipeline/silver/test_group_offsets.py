"""Committed offsets: only those from 0 on are commits."""

from __future__ import annotations

from typing import Any

from kwire.messages.kafka.offset_fetch import (
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kwire_pipeline.silver.input_states import GroupOffsetsState


def test_negative_offsets_are_not_commits() -> None:
    """-1 says that there is none; tools have committed -2, which is the name of an offset elsewhere."""
    rows: list[tuple[Any, ...]] = []
    state = GroupOffsetsState(lambda *row: rows.append(row))
    for offsets in ((7, -1, -2, 0), (-2, 3, -1, 0)):
        partitions = [
            OffsetFetchResponsePartition(partition_index=index, committed_offset=offset, metadata="", error_code=0)
            for index, offset in enumerate(offsets)
        ]
        state._apply_offsets(1, "g", [OffsetFetchResponseTopic(name="t", partitions=tuple(partitions))])

    assert {row[4:] for row in rows} == {(0, "set", 7), (3, "set", 0), (0, "gone", 7), (1, "set", 3)}
