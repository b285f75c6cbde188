"""The ends of a topic's logs over time, from which lag in seconds follows.

A record is as old as the sample in which the end of its log was first seen behind it. That is what the exporter knows:
the record was written after the sample before, so its age is underestimated by at most the time between the two. No
time is interpolated: between two samples of a quiet log nothing may have been written for hours.

Samples in which no end moved are not kept. Old samples are merged while this adds at most MERGED_ERROR of their age to
the error. Fewer are kept of samples that no group needs now: a group that is reset, or a new one, can need them.

    error of a lag in seconds <= the interval between polls + 5 % of the lag, or + 10 % after a reset

A record that is older than the first sample is at least as old as that sample.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["UNKNOWN", "OffsetHistory"]

UNKNOWN = -1
"""The value of an offset, a lag, or an age that is not known."""
MERGED_ERROR = 0.05
"""Greatest error that merging samples adds, as a part of the age."""
MERGED_AT_ONCE = 16
RECENT = 4
"""Samples that are looked at before all of them are searched."""
MAX_SAMPLES = 144
"""Samples kept for a topic: at 15 s, merging by MERGED_ERROR keeps that many for four hours. Beyond, the two samples
that are closest in relation to their age are merged: 10 % are reached after half a day. 70,000 partitions take 80 MB at
most, while each has a group that is hours behind."""
SPARE_ERROR, MAX_SPARE = 0.1, 64
"""The same for samples that no group needs now, which take 36 MB for 70,000 partitions. At 15 s, 10 % are kept for some
hours, and 20 % for a week."""


class _Sample(NamedTuple):
    """A sample.

    Attributes:
        since: the time of the first sample that is merged into it.
        at: its time.
        ends: the end of each partition's log, UNKNOWN for some.
    """

    since: float
    at: float
    ends: array[int]


class OffsetHistory:
    """Samples of the ends of a topic's logs, by the position of the partition."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: list[_Sample] = []

    @property
    def is_empty(self) -> bool:
        return not self._samples

    @property
    def samples(self) -> list[tuple[float, float, list[int]]]:
        """The samples: since when each was merged, its time, and its ends."""
        return [(sample.since, sample.at, list(sample.ends)) for sample in self._samples]

    def restore(self, samples: Iterable[tuple[float, float, Sequence[int]]]) -> None:
        """Replace all samples by earlier ones."""
        self._samples = [_Sample(since, at, array("q", ends)) for since, at, ends in samples]

    def add(self, time: float, ends: Sequence[int]) -> None:
        """Add a sample: the end of each partition's log, UNKNOWN for some."""
        samples, values = self._samples, array("q", ends)
        if UNKNOWN in values and samples:  # an end that is not known now is not known to have moved
            before = samples[-1]
            values = array("q", [_end(index, before) if end == UNKNOWN else end for index, end in enumerate(values)])
        if samples and samples[-1].ends == values:
            return
        if samples and samples[-1].at >= time:  # the clock was set back: the order of samples decides, not their time
            samples[-1] = _Sample(samples[-1].since, samples[-1].at, values)
            return
        samples.append(_Sample(time, time, values))
        if len(samples) % MERGED_AT_ONCE == 0:  # each merging looks at all samples
            self._samples = _merged(samples, time, MERGED_ERROR, MAX_SAMPLES - MERGED_AT_ONCE)

    def clear(self) -> None:
        """Forget all samples: offsets do not continue, since a topic was created again or its log was truncated."""
        self._samples.clear()

    def thin_before(self, time: float) -> None:
        """Merge more of the samples that only records before a time need. The one before it stays: it bounds the next.

        They are looked at when there are more than MAX_SPARE, and MERGED_AT_ONCE fewer are left.
        """
        samples = self._samples
        spare = max(bisect_left(samples, time, key=_time) - 1, 0)
        if spare > MAX_SPARE:
            samples[:spare] = _merged(samples[:spare], samples[-1].at, SPARE_ERROR, MAX_SPARE - MERGED_AT_ONCE)

    def written_at(self, positions: Sequence[int], offsets: Sequence[int]) -> list[float]:
        """Return when the end of each log was first seen behind an offset; UNKNOWN without a sample of the partition.

        A record before the first sample is at least that old, and `unbounded` has its place. All partitions are looked
        up together: a sample is read once for all of them.

        Args:
            positions: the positions of partitions.
            offsets: for each of them, an offset before the end of its log.
        """
        samples = self._samples
        if not samples:
            return [UNKNOWN] * len(positions)
        last = samples[-1]
        ends = _ends(last, positions)
        times = [last.at if end != UNKNOWN else UNKNOWN for end in ends]
        # Behind the last sample, the log has grown since: its time stays.
        left = [place for place, (end, offset) in enumerate(zip(ends, offsets, strict=True)) if end > offset]
        # Most groups are behind by some intervals at most, and a look at a few samples costs less than a search.
        oldest = max(len(samples) - 1 - RECENT, 0)
        for number in range(len(samples) - 2, oldest - 1, -1):
            if not left:
                return times
            sample = samples[number]
            ends = _ends(sample, positions)
            left = [place for place in left if ends[place] > offsets[place]]
            for place in left:
                times[place] = sample.at
        for place in left if oldest else ():
            key = partial(_end, positions[place])
            times[place] = samples[bisect_right(samples, offsets[place], 0, oldest, key=key)].at
        return times

    def unbounded(self, positions: Sequence[int], offsets: Sequence[int]) -> list[int]:
        """Return the places of the records for which no sample shows the log before they were written."""
        ends = _ends(self._samples[0], positions) if self._samples else [UNKNOWN] * len(positions)
        if UNKNOWN in ends:  # ends ascend, so the first one that is known decides
            ends = [
                next((end for end in map(partial(_end, position), self._samples) if end != UNKNOWN), UNKNOWN)
                for position in positions
            ]
        return [
            place
            for place, (end, offset) in enumerate(zip(ends, offsets, strict=True))
            if end > offset or end == UNKNOWN
        ]


def _merged(samples: Sequence[_Sample], now: float, error: float, limit: int) -> list[_Sample]:
    """Merge samples into the next ones, as far as a part of their age as error permits, and as a limit requires."""
    merged: list[_Sample] = []
    for sample in samples:
        before = merged[-1] if merged else None
        if before is not None and sample.at - before.since <= error * (now - sample.at):
            merged[-1] = _Sample(before.since, sample.at, sample.ends)
        else:
            merged.append(sample)
    while len(merged) > limit:
        _, position = min(
            ((after.at - before.since) / (now - after.at + 1), position)
            for position, (before, after) in enumerate(pairwise(merged))
        )
        before, after = merged[position : position + 2]
        merged[position : position + 2] = [_Sample(before.since, after.at, after.ends)]
    return merged


def _time(sample: _Sample) -> float:
    return sample.at


def _ends(sample: _Sample, positions: Sequence[int]) -> list[int]:
    """Return the ends of the logs of some partitions."""
    try:
        return [*map(sample.ends.__getitem__, positions)]
    except IndexError:  # a sample from before partitions were added
        return [_end(position, sample) for position in positions]


def _end(position: int, sample: _Sample) -> int:
    ends = sample.ends
    return ends[position] if position < len(ends) else UNKNOWN
