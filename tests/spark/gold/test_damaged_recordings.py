"""Incidents of damaged recordings, compared with the incidents of the recordings as they are.

Each damage makes a cluster of its own: rows that are lost, late, repeated, cut, or damaged, polls that are rarer, other
pollers, and clocks that are wrong. The bounds are for both recordings.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.capture.rows import RowKind
from kwire.spark import gold
from kwire.spark.store.commits import PipelineStore
from tests.spark import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

Incident = dict[str, Any]

SEED = 11
BROKER = 2
"""The broker that a damage of one broker concerns."""
SOON_S = 6
"""A damaged recording can show an incident that many seconds earlier or later."""

FAMILIES = {
    **dict.fromkeys(("broker_killed", "broker_paused", "broker_lost", "controlled_shutdown"), "outage"),
    **dict.fromkeys(("broker_restarted", "broker_resumed", "broker_returned"), "return"),
}


class Difference(NamedTuple):
    """Number of incidents that were found with another kind, missed, and found without reason."""

    other_kind: int
    missed: int
    false: int


NONE = Difference(0, 0, 0)


class Damage(NamedTuple):
    """A damage of a recording.

    Attributes:
        change: returns the damaged rows.
        zk39, kraft44: the most that may differ in the recordings of 3.9.1 and of 4.4.0.
        tolerance: seconds between the first signs of an incident.
    """

    change: Callable[[Sequence[Row]], Iterable[Row]]
    zk39: Difference
    kraft44: Difference
    tolerance: float = SOON_S


def lost(share: float) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Lose a share of the rows."""
    chance = Random(SEED)
    return lambda rows: (row for row in rows if chance.random() >= share)


def rare(seconds: int) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Keep at most one poll of each request in an interval."""

    def thin(rows: Sequence[Row]) -> Iterator[Row]:
        last: dict[tuple[Any, ...], float] = {}
        for row in rows:
            key = row.broker_id, row.api_key, row.request[8:] if row.api_key == 32 and row.request else None
            at = row.polled_at.timestamp()
            if at - last.get(key, 0) >= seconds - 0.3:
                last[key] = at
                yield row

    return thin


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
        for row in rare(5)(rows):
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


def clock_step(after: float, step: int) -> Callable[[Sequence[Row]], Iterable[Row]]:
    """Set the clock of the poller, which records the step."""

    def set_clock(rows: Sequence[Row]) -> Iterator[Row]:
        begin = rows[0].polled_at + timedelta(seconds=after)
        stepped: set[int] = set()
        for row in rows:
            if row.polled_at < begin:
                yield row
                continue
            is_first = row.broker_id not in stepped
            stepped.add(row.broker_id)
            moved = row._replace(polled_at=row.polled_at + timedelta(seconds=step))
            yield moved._replace(clock_step_us=step * 1_000_000) if is_first else moved

    return set_clock


def failed(row: Row, reason: str) -> Row:
    """Return a poll without a response."""
    return row if row.frame is None else row._replace(frame=None, kind=RowKind.ERROR, error=reason)


def some_versions(rows: Sequence[Row]) -> Iterator[Row]:
    """Poll Metadata only."""
    return (row for row in rows if row.api_key == 3)


DAMAGES = {
    "shuffled": Damage(lambda rows: Random(SEED).sample(rows, len(rows)), NONE, NONE),
    "doubled": Damage(lambda rows: [*rows, *rows], NONE, NONE),
    "5 % lost": Damage(lost(0.05), NONE, NONE),
    "20 % lost": Damage(lost(0.2), NONE, NONE),
    "half lost": Damage(lost(0.5), Difference(3, 2, 1), Difference(3, 2, 1)),
    "one clock 5 s ahead": Damage(ahead({BROKER: 5}), NONE, NONE),
    "one clock 5 min behind": Damage(ahead({BROKER: -300}), NONE, NONE),
    "three clocks": Damage(ahead({1: 300, 3: -300}), NONE, NONE),
    "second poller": Damage(second_poller(0.11, (1, 2, 3)), NONE, NONE),
    "second poller without one broker": Damage(second_poller(0.11, (1, 3)), NONE, NONE),
    "second poller without brokers": Damage(second_poller(0.11, ()), NONE, NONE),
    "second poller 10 s ahead": Damage(second_poller(10, (1, 2, 3)), NONE, NONE),
    "clock 10 s back": Damage(clock_step(60, -10), NONE, NONE, 70),
    "clock 60 s ahead": Damage(clock_step(60, 60), NONE, NONE, 70),
    "one broker never answers": Damage(never_answered, Difference(0, 2, 1), Difference(0, 3, 1)),
    "no answers for 2 s": Damage(unanswered(35, 2, "connect: refused"), Difference(0, 0, 1), Difference(0, 0, 1)),
    "no answers for 10 s": Damage(
        unanswered(35, 10, "response: no answer within 2.0 s"), Difference(1, 0, 1), Difference(1, 0, 1)
    ),
    "no polls for 30 s": Damage(unpolled(35, 30), Difference(1, 5, 5), Difference(0, 2, 2)),
    "one broker not polled for 20 s": Damage(unpolled(10, 20, [BROKER]), Difference(2, 0, 0), Difference(0, 1, 1)),
    "cut frames": Damage(cut_frames, NONE, NONE),
    "metadata only": Damage(some_versions, Difference(0, 4, 0), Difference(0, 4, 0)),
    # Some incidents begin and end between two polls of 30 seconds, or after the last one: they cannot be found.
    "every 5 s": Damage(rare(5), Difference(2, 0, 0), Difference(0, 0, 0), 13),
    "every 10 s": Damage(rare(10), Difference(2, 0, 0), Difference(4, 0, 0), 23),
    "every 30 s": Damage(rare(30), Difference(3, 4, 0), Difference(4, 6, 0), 63),
}


def test_damages_stay_within_their_bounds(spark: SparkSession, recorded_gold: str, tmp_path: Path) -> None:
    rows = [
        row._replace(cluster_id=f"{name} {title}")
        for name in recorded.NAMES
        for title, damage in DAMAGES.items()
        for row in damage.change(recorded.bronze(name))
    ]
    recorded.write_silver(rows, tmp_path)
    gold.build(spark, PipelineStore(str(tmp_path)))
    undamaged, damaged = incidents(recorded_gold), incidents(tmp_path)

    worse = {}
    for name, recording in zip(recorded.NAMES, ("zk39", "kraft44"), strict=True):
        for title, damage in DAMAGES.items():
            tolerance = timedelta(seconds=damage.tolerance)
            measured = difference(undamaged[name], damaged.get(f"{name} {title}", []), tolerance)
            bound = getattr(damage, recording)
            if any(count > most for count, most in zip(measured, bound, strict=True)):
                worse[name, title] = measured
    assert worse == {}


def incidents(out: Path | str) -> dict[str, list[Incident]]:
    """Return the incidents by cluster."""
    dataset = PipelineStore(str(out)).snapshot().dataset("gold/incidents")
    assert dataset is not None
    by_cluster: dict[str, list[Incident]] = {}
    for incident in dataset.to_table().to_pylist():
        by_cluster.setdefault(incident["cluster_id"], []).append(incident)
    return by_cluster


def difference(wanted: list[Incident], damaged: list[Incident], tolerance: timedelta) -> Difference:
    """Compare incidents: first those of equal kind and broker, then those of one broker or of related kinds."""

    def family(incident: Incident) -> str:
        return str(FAMILIES.get(incident["kind"], incident["kind"]))

    rest, missing, other_kind = list(damaged), [], 0
    for incident in wanted:
        near = [each for each in rest if abs(each["first_sign_at"] - incident["first_sign_at"]) <= tolerance]
        same = [each for each in near if all(each[name] == incident[name] for name in ("kind", "broker_id"))]
        if same:
            rest.remove(min(same, key=lambda each: abs(each["first_sign_at"] - incident["first_sign_at"])))
        else:
            missing.append(incident)
    for incident in list(missing):
        for each in rest:
            is_near = abs(each["first_sign_at"] - incident["first_sign_at"]) <= tolerance
            of_broker = incident["broker_id"] is not None and each["broker_id"] == incident["broker_id"]
            if is_near and (of_broker or family(each) == family(incident)):
                rest.remove(each)
                missing.remove(incident)
                other_kind += 1
                break
    return Difference(other_kind, len(missing), len(rest))
