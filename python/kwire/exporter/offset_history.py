"""The ends of a topic's logs over time, from which lag in seconds follows.

The record at a committed offset was written between two samples: the last one whose end is not after the offset, and
the next one. Its time is interpolated between the times of both, and its age is the lag in seconds. No record is read.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UNKNOWN", "OffsetHistory"]

UNKNOWN = -1
"""The value of an offset, a lag, or an age that is not known."""
MAX_SAMPLES = 24
"""Samples kept for a topic. At 15 s, the last three minutes are exact; older samples are thinned out. Chosen so that
3,500 topics of 20 partitions take 20 MB."""


class OffsetHistory:
    """Samples of the ends of a topic's logs, by partition index."""

    __slots__ = ("_ends", "_times")

    def __init__(self) -> None:
        self._times: list[float] = []
        self._ends: list[array[int]] = []

    @property
    def is_empty(self) -> bool:
        return not self._times

    def add(self, time: float, ends: Sequence[int]) -> None:
        """Add a sample: the end of each partition's log, UNKNOWN for some."""
        if len(self._times) == MAX_SAMPLES:
            # Every second sample of the older half goes, but never the oldest one, which bounds what is known.
            del self._times[1 : MAX_SAMPLES // 2 : 2], self._ends[1 : MAX_SAMPLES // 2 : 2]
        self._times.append(time)
        self._ends.append(array("q", ends))

    def clear(self) -> None:
        """Forget all samples: offsets do not continue, since a topic was created again or its log was truncated."""
        self._times.clear()
        self._ends.clear()

    def written_at(self, partition: int, offset: int) -> float:
        """Return when the record at an offset was written; UNKNOWN without a sample.

        Before the first sample, the time is an estimate: the mean rate of all samples, continued backward. Without any
        growth of the log, it is the time of the first sample, which the record precedes.

        Args:
            partition: the index of the partition.
            offset: an offset before the end of its log.
        """
        after: tuple[float, int] | None = None
        latest: tuple[float, int] | None = None
        for time, ends in zip(reversed(self._times), reversed(self._ends), strict=True):
            end = ends[partition] if partition < len(ends) else UNKNOWN
            if end == UNKNOWN:
                continue
            if end <= offset:  # without a sample after it, the log has grown since
                return time if after is None else _interpolate(offset, (time, end), after)
            after = time, end
            latest = latest or after
        if after is None or latest is None:
            return UNKNOWN
        return after[0] if latest[1] == after[1] else _interpolate(offset, after, latest)


def _interpolate(offset: int, first: tuple[float, int], second: tuple[float, int]) -> float:
    """Return the time of an offset on the line through two points (time, end)."""
    return first[0] + (second[0] - first[0]) * (offset - first[1]) / (second[1] - first[1])
