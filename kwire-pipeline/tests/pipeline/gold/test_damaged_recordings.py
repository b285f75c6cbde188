"""Incidents of damaged recordings, compared with the incidents of the recordings as they are.

Each damage makes a cluster of its own: rows that are lost or cut, brokers that do not answer or are not polled, other
pollers, and clocks that are wrong. The bounds are what was measured. `test_rare_polls` has rarer polls, and
`test_incidents_of_recordings` repeated and shuffled rows.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire.capture.rows import RowKind
from kwire_pipeline import gold
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline import recorded
from tests.pipeline.gold.incident_differences import Difference, difference, incidents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row
    from tests.pipeline.gold.incident_differences import Incident

SEED = 11
BROKER = 2
"""The broker that a damage of one broker concerns."""
TOLERANCE = timedelta(seconds=6)
"""Greatest difference between the first signs of an incident."""

NONE = Difference(0, 0, 0)


class Damage(NamedTuple):
    """A damage of a recording.

    Attributes:
        change: returns the damaged rows.
        zk39, kraft44: the most that may differ in the recordings of 3.9.1 and of 4.4.0.
    """

    change: Callable[[Sequence[Row]], Iterable[Row]]
    zk39: Difference
    kraft44: Difference


def lost(share: float) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Lose a share of the rows."""
    chance = Random(SEED)
    return lambda rows: (row for row in rows if chance.random() >= share)


def ahead(skews: dict[int, int]) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Poll brokers with clocks that are ahead by some seconds."""
    return lambda rows: (
        row._replace(polled_at=row.polled_at + timedelta(seconds=skews.get(row.broker_id, 0))) for row in rows
    )


def unanswered(after: float, seconds: float, reason: str) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Let no broker answer for some seconds."""

    def fail(rows: Sequence[Row]) -> Iterator[Row]:
        begin = rows[0].polled_at + timedelta(seconds=after)
        for row in rows:
            yield failed(row, reason) if begin <= row.polled_at < begin + timedelta(seconds=seconds) else row

    return fail


def unpolled(after: float, seconds: float, brokers: Sequence[int] = (1, 2, 3)) -> Callable[..., Iterable[Row]]:
    """Do not poll brokers for some seconds."""

    def leave_out(rows: Sequence[Row]) -> Iterator[Row]:
        begin = rows[0].polled_at + timedelta(seconds=after)
        for row in rows:
            if row.broker_id not in brokers or not begin <= row.polled_at < begin + timedelta(seconds=seconds):
                yield row

    return leave_out


def second_poller(delay: float, reached: Sequence[int]) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Add a poller every five seconds, which reaches some brokers, with a clock that is ahead."""

    def add(rows: Sequence[Row]) -> Iterator[Row]:
        yield from (row._replace(poller_id="recorded") for row in rows)
        for row in recorded.rarely(rows, 5):
            copy = row._replace(polled_at=row.polled_at + timedelta(seconds=delay), poller_id="second")
            yield copy if row.broker_id in reached else failed(copy, "connect: timed out")

    return add


def never_answered(rows: Sequence[Row]) -> Iterator[Row]:
    """Let one broker never answer."""
    for row in rows:
        if row.broker_id != BROKER:
            yield row
        elif row.api_key == 3:
            yield failed(row, "connect: TimeoutError: timed out")


def cut_frames(rows: Sequence[Row]) -> Iterator[Row]:
    """Cut every 20th frame to two thirds."""
    for number, row in enumerate(rows):
        is_cut = row.frame is not None and number % 20 == 7
        yield row._replace(frame=row.frame[: len(row.frame) * 2 // 3]) if is_cut and row.frame is not None else row


def failed(row: Row, reason: str) -> Row:
    """Return a poll without a response."""
    return row if row.frame is None else row._replace(frame=None, kind=RowKind.ERROR, error=reason)


def metadata_only(rows: Sequence[Row]) -> Iterator[Row]:
    """Poll nothing but Metadata."""
    return (row for row in rows if row.api_key == 3)


DAMAGES = {
    "20 % lost": Damage(lost(0.2), Difference(0, 1, 0), NONE),
    "half lost": Damage(lost(0.5), Difference(0, 1, 0), NONE),
    "three clocks": Damage(ahead({1: 300, 3: -300}), NONE, NONE),
    "second poller without one broker": Damage(second_poller(0.11, (1, 3)), NONE, NONE),
    "second poller without brokers": Damage(second_poller(0.11, ()), NONE, NONE),
    "second poller 10 s ahead": Damage(second_poller(10, (1, 2, 3)), NONE, NONE),
    # All brokers that do not answer are one incident, and what happens meanwhile is found afterwards.
    "no answers for 2 s": Damage(unanswered(35, 2, "connect: refused"), Difference(0, 0, 1), Difference(0, 1, 1)),
    "no answers for 10 s": Damage(unanswered(35, 10, "response: timeout"), Difference(0, 0, 1), Difference(0, 1, 1)),
    # What happens without polls is dated after them.
    "no polls for 30 s": Damage(unpolled(35, 30), Difference(0, 4, 4), Difference(1, 4, 4)),
    "one broker not polled for 20 s": Damage(unpolled(10, 20, [BROKER]), NONE, Difference(2, 0, 0)),
    "one broker never answers": Damage(never_answered, Difference(0, 3, 1), Difference(1, 3, 1)),
    "cut frames": Damage(cut_frames, Difference(0, 1, 0), NONE),
    # Changes of configs are in other responses.
    "metadata only": Damage(metadata_only, Difference(0, 4, 0), Difference(0, 4, 0)),
}


@pytest.mark.programs  # 33,000 polls take a minute
def test_damages_stay_within_their_bounds(spark: SparkSession, tmp_path: Path) -> None:
    def incidents_after(change: Callable[[Sequence[Row]], Iterable[Row]], folder: Path) -> dict[str, list[Incident]]:
        # One damage at a time is little data, and its gold is built without jobs of Spark.
        recorded.write_silver([row for name in recorded.NAMES for row in change(recorded.bronze(name))], folder)
        gold.build(spark, PipelineStore(str(folder)))
        return incidents(folder)

    undamaged = incidents_after(iter, tmp_path / "undamaged")
    worse = {}
    for title, damage in DAMAGES.items():
        damaged = incidents_after(damage.change, tmp_path / title)
        for name, bound in zip(recorded.NAMES, (damage.zk39, damage.kraft44), strict=True):
            measured = difference(undamaged[name], damaged.get(name, []), TOLERANCE)
            if any(count > most for count, most in zip(measured, bound, strict=True)):
                worse[name, title] = measured
    assert worse == {}
