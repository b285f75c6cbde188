"""Polls of a poller whose clock was set back are applied in the order in which they were made."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from kwire_pipeline.silver import poll_order
from kwire_pipeline.silver.poll_order import OrderedPoll, PollOrder, correlation_id
from tests.pipeline import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.capture.rows import Row

STEPS = (-1.0, -10.0, -60.0)
BROKERS = (1, 2, 3)


def ordered(rows: Iterable[Row]) -> list[OrderedPoll]:
    """Return the rows of one broker as they are applied, from rows in any order."""
    order = PollOrder()
    by_time = sorted(rows, key=lambda row: row.polled_at)
    return [*(poll for row in by_time for poll in order.add(row)), *order.finish()]


def stepped(rows: Sequence[Row], step: float, after: float = 60.0) -> list[Row]:
    """Return the rows as recorded if the clock is set by `step` seconds in the middle."""
    at = rows[0].polled_at + timedelta(seconds=after)
    later = timedelta(seconds=step)
    return [row._replace(polled_at=row.polled_at + later) if row.polled_at >= at else row for row in rows]


def of_broker(name: str, broker: int) -> list[Row]:
    return [row for row in recorded.bronze(name) if row.broker_id == broker]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", recorded.NAMES)
def test_polls_around_a_step_back_are_in_the_order_of_requests(name: str, step: float) -> None:
    for broker in BROKERS:
        rows = of_broker(name, broker)
        polls = ordered(stepped(rows, step))
        metadata = [poll for poll in polls if poll.row.api_key == 3]

        assert [poll.row.request for poll in metadata] == [row.request for row in rows if row.api_key == 3]
        times = [poll.row.polled_at for poll in metadata]
        assert times == sorted(times)
        (found,) = [poll.row.clock_step_us for poll in polls if poll.row.clock_step_us is not None]
        assert abs(found / 1e6 - step) < 0.02
        # The times are those of the clock again as soon as it has caught up.
        assert sum(poll.row != poll.recorded for poll in polls if poll.row.clock_step_us is None) < 5 * 2 * -step


@pytest.mark.parametrize("name", recorded.NAMES)
def test_polls_without_a_step_back_are_applied_as_recorded(name: str) -> None:
    chance = Random(21)
    for broker in BROKERS:
        rows = of_broker(name, broker)
        for given in (
            rows,
            stepped(rows, 60),  # a gap
            [row for row in rows if chance.random() > 0.3],
            [row._replace(request=None) for row in stepped(rows, -10)],  # no evidence
            rows + rows[300:400],
        ):
            polls = ordered(given)
            assert [poll.recorded for poll in polls] == sorted(given, key=lambda row: row.polled_at)
            assert all(poll.row == poll.recorded for poll in polls)


def renumbered(rows: Iterable[Row], first: int, *, restart_after: int | None = None) -> list[Row]:
    """Return the rows with other correlation ids, which begin again after some rows."""
    renumbered_rows = []
    for number, row in enumerate(rows):
        id = first + number if restart_after is None or number < restart_after else number - restart_after
        request = (row.request or bytes(8))[:4] + id.to_bytes(4, "big") + (row.request or bytes(8))[8:]
        renumbered_rows.append(row._replace(request=request))
    return renumbered_rows


def test_two_pollers_and_reconnected_pollers_are_not_taken_for_a_step() -> None:
    rows = [row for row in of_broker("zk39-public", 1) if row.api_key == 3]
    later = timedelta(seconds=0.1)
    two = renumbered(rows, 1) + [row._replace(polled_at=row.polled_at + later) for row in renumbered(rows, 9000)]
    reconnected = renumbered(rows, 5000, restart_after=200)

    for given in (two, reconnected):
        polls = ordered(given)
        assert [poll.recorded for poll in polls] == sorted(given, key=lambda row: row.polled_at)
        assert all(poll.row == poll.recorded for poll in polls)


@pytest.mark.parametrize(("limit", "value"), [("MAX_HELD_ROWS", 10), ("MAX_HELD_BYTES", 10_000)])
def test_memory_of_held_rows_is_bounded(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poll_order, limit, value)
    rows = stepped(of_broker("zk39-public", 1), -60)

    polls = ordered(rows)

    assert [poll.recorded for poll in polls] == sorted(rows, key=lambda row: row.polled_at)


def test_recorded_step_is_kept_and_rows_keep_their_mark() -> None:
    row = of_broker("zk39-public", 1)[0]._replace(clock_step_us=-5)
    order = PollOrder()

    polls = [*order.add(row, to_bronze=True), *order.finish()]

    assert [(poll.row.clock_step_us, poll.to_bronze) for poll in polls] == [(-5, True)]
    assert correlation_id(row._replace(request=b"short")) is None
