"""The lag of groups over time: how fast it changes, and when a group has caught up."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire_admin.operations.rows import column

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEPT", "CommittedPartition", "LagHistory", "LagTrend", "Offsets"]

KEPT = 30
"""The number of samples that a trend is computed from."""
STEADY = 0.01
"""The change in messages a second below which a lag is steady."""


class CommittedPartition(NamedTuple):
    """The group and the partition of a committed offset.

    Attributes:
        group: the group.
        topic: the topic.
        partition: the partition.
        store: location of the offset: `brokers` or `zookeeper`.
    """

    group: str
    topic: str
    partition: int
    store: str


class Offsets(NamedTuple):
    """The offsets of a partition at one time.

    Attributes:
        committed: the committed offset; None if there is none.
        end: the end of the log; None if it is not known.
    """

    committed: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        """The messages between; None if one of both is not known. A committed offset after the end of the log is 0."""
        return None if self.committed is None or self.end is None else max(self.end - self.committed, 0)


@dataclass(frozen=True, slots=True)
class LagTrend:
    """The lag of a group in a partition, and its change.

    Attributes:
        group: the group.
        topic: the topic.
        partition: the partition.
        store: location of the committed offset: `brokers` or `zookeeper`.
        committed: the committed offset; None if there is none.
        end: the end of the log; None if it is not known.
        lag: the messages between; None if it is not known.
        consumed: messages a second that the group commits; None before the second sample.
        change: messages a second by which the lag grows, below 0 if it shrinks; None before the second sample.
        catch_up: seconds until the lag is 0 at this rate; None if it does not shrink.
        lags: the last lags, the newest last.
    """

    group: str
    topic: str
    partition: int
    store: str
    committed: int | None
    end: int | None = field(metadata=column(title="LOG END"))
    lag: int | None
    consumed: float | None = field(metadata=column(title="CONSUMED/S"))
    change: float | None = field(metadata=column(title="CHANGE/S"))
    catch_up: float | None = field(metadata=column(title="CATCH UP S"))
    lags: tuple[int, ...] = field(metadata=column(table=False))


class LagHistory:
    """The last samples of every partition."""

    def __init__(self) -> None:
        self._samples: dict[CommittedPartition, deque[tuple[float, Offsets]]] = {}

    def add(self, time: float, offsets: Mapping[CommittedPartition, Offsets]) -> None:
        """Add a sample. Partitions that it lacks are forgotten, and so is what was before an offset that was reset.

        Args:
            time: seconds by a monotonic clock.
            offsets: the offsets of all partitions.
        """
        self._samples = {key: self._samples.get(key, deque(maxlen=KEPT)) for key in sorted(offsets)}
        for key, samples in self._samples.items():
            if samples and _is_reset(samples[-1][1], offsets[key]):
                samples.clear()
            samples.append((time, offsets[key]))

    def trends(self) -> list[LagTrend]:
        """Return the trend of each partition, by group, topic, and partition."""
        return [_trend(key, list(samples)) for key, samples in self._samples.items()]


def _is_reset(before: Offsets, after: Offsets) -> bool:
    """Return whether an offset went back: the group was reset, or the topic was created again."""
    return any(old is not None and new is not None and new < old for old, new in zip(before, after, strict=True))


def _trend(key: CommittedPartition, samples: list[tuple[float, Offsets]]) -> LagTrend:
    lags = [(time, offsets.lag) for time, offsets in samples]
    points = [(time, lag) for time, lag in lags if lag is not None]
    committed = [(time, offsets.committed) for time, offsets in samples if offsets.committed is not None]
    newest = samples[-1][1]
    change = _slope(points)
    catch_up = None
    if newest.lag == 0:
        catch_up = 0.0
    elif newest.lag is not None and change is not None and change < -STEADY:
        catch_up = round(newest.lag / -change, 3)
    return LagTrend(*key, *newest, newest.lag, _slope(committed), change, catch_up, tuple(lag for _, lag in points))


def _slope(points: list[tuple[float, int]]) -> float | None:
    """Return the slope of the line through points (least squares); None if there are fewer than two times."""
    if len(points) < 2:
        return None
    middle_time = sum(time for time, _ in points) / len(points)
    middle_value = sum(value for _, value in points) / len(points)
    spread = sum((time - middle_time) ** 2 for time, _ in points)
    if spread == 0:
        return None
    return round(sum((time - middle_time) * (value - middle_value) for time, value in points) / spread, 3)
