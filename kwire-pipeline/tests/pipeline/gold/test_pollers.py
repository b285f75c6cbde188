"""Brokers that several pollers poll: the leading poller, and the reports that count. Times are seconds."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random
from typing import TYPE_CHECKING

from kwire_pipeline.gold.pollers import (
    LeadingPeriod,
    PollResult,
    Report,
    counting_reports,
    leading_periods,
    shared_clusters,
)
from kwire_pipeline.store.record import reporter_key

if TYPE_CHECKING:
    from collections.abc import Mapping

SECOND = 1_000_000
FAST, SLOW = 0.5, 5.0


def polls(
    interval: float, stop: float = 300, *, start: float = 0, failing: tuple[tuple[float, float], ...] = ()
) -> list[PollResult]:
    """Return polls that fail in some times, and were sent 10 ms before."""
    times = [start + interval * number for number in range(round((stop - start) / interval))]
    return [
        PollResult(round(at * SECOND), any(begin <= at < end for begin, end in failing), round((at - 0.01) * SECOND))
        for at in times
    ]


def of_pollers(pollers: Mapping[str, list[PollResult]]) -> dict[str | None, list[PollResult]]:
    return dict(pollers.items())


def periods(**pollers: list[PollResult]) -> list[tuple[str | None, float, float]]:
    """Return who leads, with the times rounded to seconds."""
    return [
        (poller, round(start / SECOND) if start > -inf else start, round(stop / SECOND) if stop < inf else stop)
        for poller, start, stop in leading_periods(of_pollers(pollers))
    ]


def alone(poller: str) -> list[tuple[str, float, float]]:
    return [(poller, -inf, inf)]


def test_poller_that_polls_most_often_leads() -> None:
    assert periods(a=polls(SLOW), b=polls(FAST)) == alone("b")
    assert periods(a=polls(FAST), b=polls(FAST, start=0.11)) == alone("a")


def test_poller_that_reaches_no_broker_never_leads_while_another_reaches_it() -> None:
    unreachable = ((0, inf),)

    assert periods(a=polls(FAST, failing=unreachable), b=polls(SLOW, start=0.1)) == alone("b")
    assert periods(a=polls(SLOW, failing=unreachable), b=polls(FAST)) == alone("b")


def test_outage_that_all_pollers_see_does_not_change_the_leader() -> None:
    for start in (60, 62.3, 64.9):
        for stop in (75, 77.2, 79.9):
            outage = ((start, stop),)
            assert periods(a=polls(FAST, failing=outage), b=polls(SLOW, start=0.2, failing=outage)) == alone("a")


def test_outage_between_two_polls_of_another_poller_is_not_contradicted() -> None:
    assert periods(a=polls(FAST, failing=((61, 76),)), b=polls(30.0)) == alone("a")


def test_response_while_broker_shuts_down_contradicts_nothing() -> None:
    """One connection is closed at 60.0, another one still has a response at 60.3."""
    outage = ((60.0, 80.0),)
    other = polls(SLOW, start=0.3, failing=((60.4, 80.0),))

    assert periods(a=polls(FAST, failing=outage), b=other) == alone("a")


def test_leader_that_loses_its_network_is_replaced_until_it_reaches_the_broker_again() -> None:
    cut_off = polls(FAST, failing=((100, 200),))

    assert periods(a=cut_off, b=polls(SLOW, start=0.2)) == [("a", -inf, 100), ("b", 100, 200), ("a", 200, inf)]


def test_leader_that_ends_is_replaced_after_its_last_poll() -> None:
    assert periods(a=polls(FAST, 100), b=polls(SLOW)) == [("a", -inf, 100), ("b", 100, inf)]


def test_unknown_poller_before_a_known_one_is_a_poller() -> None:
    """A table of another program may lack the poller in its earlier rows."""
    found = leading_periods({None: polls(FAST, 100), "a": polls(FAST, start=103)})

    assert [period.poller_id for period in found] == [None, "a"]


def test_request_without_send_time_counts_from_the_poll_before() -> None:
    unknown = [poll._replace(sent_at=None) for poll in polls(FAST, failing=((100, 200),))]

    assert [poller for poller, *_ in periods(a=unknown, b=polls(SLOW, start=0.2))] == ["a", "b", "a"]


def test_leading_periods_cover_all_time_once_for_random_polls() -> None:
    chance = Random(21)
    for _ in range(30):
        pollers = {
            name: polls(
                chance.choice((0.5, 1, 5, 30)),
                chance.uniform(50, 400),
                start=chance.uniform(0, 40),
                failing=tuple((at, at + chance.expovariate(1 / 40)) for at in (chance.uniform(0, 300),) * 2),
            )
            for name in "abc"[: chance.randint(1, 3)]
        }
        found = leading_periods(of_pollers(pollers))
        assert (found[0].start, found[-1].stop) == (-inf, inf)
        assert all(before.stop == after.start for before, after in pairwise(found))


A, B = LeadingPeriod("a", -inf, 100), LeadingPeriod("b", 100, inf)


def counted(*reports: tuple[str, int, str]) -> list[tuple[str, int]]:
    """Return the reports that count, as poller and time."""
    rows = [Report(poller, at, (key,)) for poller, at, key in sorted(reports, key=lambda report: report[1])]
    return [(rows[position].poller_id or "", at) for position, at in counting_reports(rows, [A, B])]


def test_reports_of_leaders_count() -> None:
    assert counted(("b", 10, "x"), ("a", 12, "x"), ("b", 150, "x"), ("a", 151, "x")) == [("a", 12), ("b", 150)]


def test_report_that_only_the_next_leader_has_counts_from_its_takeover() -> None:
    assert counted(("a", 10, "x"), ("b", 12, "x"), ("b", 98, "x")) == [("a", 10), ("b", 100)]


def test_report_before_a_later_one_of_the_leader_does_not_count() -> None:
    assert counted(("b", 90, "x"), ("a", 95, "x")) == [("a", 95)]
    assert counted(("b", 90, "y"), ("a", 95, "x")) == [("a", 95), ("b", 100)]


def test_all_reports_count_where_no_poller_leads() -> None:
    assert counting_reports([Report("a", 1, None), Report("b", 2, None)], []) == [(0, 1), (1, 2)]


def test_clusters_with_several_pollers_are_shared() -> None:
    keys = [reporter_key("one", broker, "", "a") for broker in (1, 2)]
    assert shared_clusters(keys) == set()
    assert shared_clusters([*keys, reporter_key("one", 2, "", None)]) == {"one"}
    # A poller that has never reached a broker knows no cluster.
    assert shared_clusters([*keys, reporter_key("", -1, "host:9092", "b")]) == {"one"}
    assert shared_clusters([*keys, reporter_key("two", 1, "", "b")]) == set()
