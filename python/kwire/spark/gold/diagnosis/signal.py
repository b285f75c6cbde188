"""What can be seen of a cluster, small enough to be thought about one by one.

A signal sums up what one broker told first at one instant: "at 12:00:07 broker 1 told that 17 partitions led by broker
2 have lost replica 3". A dead broker with 400 partitions makes a handful of signals, whatever the size of its topics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing seen."""

    kind: str
    """What was seen; see the list in `kwire.spark.gold.signals`."""
    at: int
    """When, in microseconds since 1970: the answer that told it first, or the failure."""
    not_before: int | None
    """When whoever told it had told the opposite last; None when it had told nothing yet."""
    reported_by: int = NOBODY
    broker: int = NOBODY
    """Whom it is about."""
    other: int = NOBODY
    """The other broker in it: who leads now, or who led before."""
    topic: str | None = None
    partitions: int = 0
    """How many partitions it is about."""
    topics: Sequence[str] = ()
    """Of which topics they are, sorted."""
    detail: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals of a cluster, by time, and what its pollers can resolve."""

    all: Sequence[Signal]
    settle: int
    """Microseconds within which signals of one cause follow one another: three seconds, which is more than any broker
    was seen to lag behind another, or two polls, whichever is longer."""
    interval: int
    """Microseconds between two polls of a broker; 0 while none was polled twice."""
    end: int
    """The last poll."""

    def of(self, *kinds: str) -> list[Signal]:
        return [signal for signal in self.all if signal.kind in kinds]
