"""The choice of one poller for each broker, where several pollers poll a cluster.

Two pollers of one broker are not two brokers: with a vote for each, a broker that is polled twice would outvote others,
and reports that are a poll apart would look like changes. So at any time one poller *leads* each broker, for each kind
of request (API key), and only its polls and reports count. The others are followers: they confirm or take over.

| a poller of a broker is | event | next |
|---|---|---|
| absent | a poll that is not void (rule 1) | present |
| present | `PATIENCE` without a poll, or its polls become void | absent |
| present, follower | it polls more often than any other present poller, or the leader becomes absent | leader |
| leader | absent, while another poller is present | absent |
| leader | absent, and so are all others | remains the leader |

1. *A failed poll is evidence against the broker only while no other poller reaches it.* A poller that fails to reach a
   broker before and after another one has received a response was wrong in between. All its polls from its first
   failure to its next response are then void: they say something about its network or its permissions. "After" means a
   request that was sent after that response; "before" means at least `CLOSING` before it, because the connections of a
   broker that shuts down do not end all at once. So a single failure beside a response contradicts nothing, and no
   failed poll of a real outage is void: as long as it lasts, no poller gets a response.
2. *A poller is present* from a poll to the next one, unless polls are void or `PATIENCE` has passed without one.
3. *The leader* is the present poller that polls the broker most often, since its times are the finest; of equals, the
   one whose id comes first. If none is present, the last leader remains.
4. *A takeover loses nothing.* Silver has only changes, and a follower may have seen a change that the leader has not.
   So the new leader's last report of each key counts from its takeover on, if the leader before has not reported that
   key later.

Times are compared after the correction of clocks (`clock_skew`). Rows without a poller id have one unknown poller.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
from math import inf, log2
from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.in_process import divide, select, with_columns
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.record import POLLER
from kwire_pipeline.tables import ddl_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

CLOSING = 1_000_000
"""Microseconds in which a broker that shuts down may still respond to one poller although another one fails: on the
recordings, the process ends within a second of its first closed connection.
"""

PATIENCE = 30_000_000
"""Microseconds without a poll after which a poller is no longer present: three times the longest pause of kwire's
poller, which waits 5 s for a response and 5 s before the next attempt.
"""

API_KEYS = {
    "brokers": 3,
    "topics": 3,
    "partitions": 3,
    "group_offsets": 9,
    "log_ends": 2,
    "groups": 16,
    "features": 18,
    "configs": 32,
    "lag": 35,
    "log_dirs": 35,
    "topic_sizes": 35,
    "registrations": 60,
}
"""The API key of the requests that tables of silver come from; a row of `polls` and `bad_frames` has its own."""

LEADERS = "cluster_id string, broker_id int, api_key int, poller_id string, start bigint, stop bigint"
"""Schema of leading periods `[start, stop)`; null is unbounded."""


class PollResult(NamedTuple):
    """A poll. Times are microseconds since 1970; `sent_at` is None if unknown."""

    at: int
    failed: bool
    sent_at: int | None = None


class LeadingPeriod(NamedTuple):
    """A time in which a poller leads; unbounded at the beginning and the end."""

    poller_id: str | None
    start: float
    stop: float


class _FailingSpan(NamedTuple):
    """Consecutive failed polls, by their positions: from `first` to before `stop`."""

    first: int
    stop: int


def shared_clusters(reporters: Iterable[str]) -> set[str]:
    """Return the clusters that several pollers poll, from the keys of reporters (`record.reporter_key`).

    Pollers that have never reached a broker do not know the cluster, and may poll any.
    """
    pollers: dict[str, set[str]] = defaultdict(set)
    for key in reporters:
        broker, _, poller_id = key.partition(POLLER)
        pollers[broker.rpartition("/")[0]].add(poller_id)
    unattributed = pollers.get("", set())
    return {cluster for cluster, own in pollers.items() if len(own | unattributed) > 1}


# Pure functions


def leading_periods(polls: Mapping[str | None, Sequence[PollResult]]) -> list[LeadingPeriod]:
    """Return who leads a broker and when, from the polls of each poller with one API key, in order of time."""
    responses = {poller: [poll.at for poll in own if not poll.failed] for poller, own in polls.items()}
    end = max((own[-1].at for own in polls.values() if own), default=0)
    presence: dict[str | None, list[tuple[float, float]]] = {}
    for poller, own in polls.items():
        others = sorted(at for other, times in responses.items() if other != poller for at in times)
        presence[poller] = _presence(own, _void_spans(own, others), end)
    ranked = sorted(polls, key=lambda poller: (_usual_interval(polls[poller]), poller or ""))
    bounds = sorted({time for periods in presence.values() for period in periods for time in period})
    periods: list[LeadingPeriod] = []
    for start in bounds:
        present = [poller for poller in ranked if _is_present(presence[poller], start)]
        if not present or (periods and periods[-1].poller_id == present[0]):
            continue  # the last leader remains
        if periods:
            periods[-1] = periods[-1]._replace(stop=start)
        periods.append(LeadingPeriod(present[0], start if periods else -inf, inf))
    return periods


def _void_spans(polls: Sequence[PollResult], responses_of_others: Sequence[int]) -> list[_FailingSpan]:
    """Return the spans of failed polls that responses to other pollers contradict."""
    void = []
    for span in _failing_spans(polls):
        # The latest time at which a request of the span was sent: a response before it is followed by a failure.
        sent = [
            polls[position].sent_at if polls[position].sent_at is not None else polls[position - 1].at
            for position in range(max(span.first, 1), span.stop)
        ]
        last_sent = max((at for at in sent if at is not None), default=0)
        position = bisect_left(responses_of_others, polls[span.first].at + CLOSING)
        if position < len(responses_of_others) and responses_of_others[position] < last_sent:
            void.append(span)
    return void


def _failing_spans(polls: Sequence[PollResult]) -> list[_FailingSpan]:
    spans: list[_FailingSpan] = []
    for position, poll in enumerate(polls):
        if poll.failed and spans and spans[-1].stop == position:
            spans[-1] = spans[-1]._replace(stop=position + 1)
        elif poll.failed:
            spans.append(_FailingSpan(position, position + 1))
    return spans


def _presence(polls: Sequence[PollResult], void: Sequence[_FailingSpan], end: int) -> list[tuple[float, float]]:
    """Return when a poller is present, as periods `[start, stop)`."""
    is_void = [False] * len(polls)
    for span in void:
        is_void[span.first : span.stop] = [True] * (span.stop - span.first)
    periods: list[tuple[float, float]] = []
    last: int | None = None  # the position of the last poll that is not void
    for position, poll in enumerate(polls):
        if is_void[position]:
            continue
        if last is not None and position == last + 1 and poll.at - polls[last].at <= PATIENCE:
            periods[-1] = periods[-1][0], poll.at + 1
        else:
            periods.append((poll.at, poll.at + 1))
        last = position
    if last == len(polls) - 1 and periods and end - polls[-1].at <= PATIENCE:
        periods[-1] = periods[-1][0], inf
    return periods


def _is_present(periods: Sequence[tuple[float, float]], at: float) -> bool:
    position = bisect_right(periods, at, key=lambda period: period[0]) - 1
    return position >= 0 and at < periods[position][1]


def _usual_interval(polls: Sequence[PollResult]) -> int:
    """Return the logarithm of the usual interval, so that jitter does not decide who leads.

    It is the lower quartile of all intervals: while a broker is away, pollers wait longer between polls.
    """
    gaps = sorted(later.at - earlier.at for earlier, later in pairwise(polls) if later.at > earlier.at)
    return round(log2(gaps[len(gaps) // 4])) if gaps else 0


class Report(NamedTuple):
    """A row of silver about one broker: the poller, its time, and the key of what it is about; None without a key."""

    poller_id: str | None
    at: int
    key: tuple[object, ...] | None


def counting_reports(reports: Sequence[Report], periods: Sequence[LeadingPeriod]) -> list[tuple[int, int]]:
    """Return the positions of the reports that count, and the times from which they do.

    Args:
        reports: in order of time.
        periods: the leading poller of the broker; without any, all reports count.
    """
    if not periods:
        return [(position, report.at) for position, report in enumerate(reports)]
    counting: list[tuple[int, int]] = []
    takeovers: dict[tuple[object, ...], dict[float, int]] = defaultdict(dict)
    times: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for position, (poller_id, at, key) in enumerate(reports):
        period = next((period for period in periods if period.poller_id == poller_id and at < period.stop), None)
        if period is None:
            continue
        if period.start <= at:
            counting.append((position, at))
            if key is not None:
                times[key].append(at)
        elif key is not None:
            takeovers[key][period.start] = position
    for key, by_time in takeovers.items():
        for takeover, position in by_time.items():
            own = times.get(key, [])
            is_superseded = bisect_left(own, takeover) > bisect_right(own, reports[position].at)
            if not is_superseded:
                counting.append((position, int(takeover)))
    return sorted(counting, key=lambda counted: (counted[1], counted[0]))


# With Spark


def leaders(polls: DataFrame) -> DataFrame:
    """Return who leads each broker (`LEADERS`), from rows of silver's `polls` with corrected times."""
    columns = select(
        polls,
        """cluster_id, broker_id, api_key, poller_id, unix_micros(polled_at) AS at, kind = 'error' AS failed,
        unix_micros(polled_at) - duration_us AS sent_at""",
    )
    return columns.groupBy("cluster_id", "broker_id").applyInArrow(_leaders_of_broker, LEADERS)


def _leaders_of_broker(polls: pa.Table) -> pa.Table:
    import pyarrow as pa

    cluster_id, broker_id = polls["cluster_id"][0].as_py(), polls["broker_id"][0].as_py()
    by_api_key: dict[int, dict[str | None, list[PollResult]]] = defaultdict(lambda: defaultdict(list))
    names = ("api_key", "poller_id", "at", "failed", "sent_at")
    ordered = polls.sort_by([("at", "ascending"), ("poller_id", "ascending")])
    for api_key, poller_id, *poll in zip(*(ordered[name].to_pylist() for name in names), strict=True):
        by_api_key[api_key][poller_id].append(PollResult._make(poll))
    rows = [
        (cluster_id, broker_id, api_key, period.poller_id, *map(_bounded, period[1:]))
        for api_key, by_poller in by_api_key.items()
        for period in leading_periods(by_poller)
    ]
    schema = ddl_schema(LEADERS)
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _bounded(time: float) -> int | None:
    return None if abs(time) == inf else int(time)


def of_leaders(rows: DataFrame, table: str, leaders: DataFrame, clusters: set[str]) -> DataFrame:
    """Return the rows of a table of silver that count, with the times from which they do.

    Args:
        rows: rows of the table, with its columns `date` or without.
        table: the name of the table.
        leaders: the leading periods (`LEADERS`).
        clusters: the clusters that several pollers poll; rows of others all count.
    """
    declared = SILVER_SCHEMAS[table]
    shared, others = divide(rows, "cluster_id", clusters)
    shared = with_columns(shared.select(*declared.names), **{_AT: f"unix_micros({declared.time})"})
    relevant = leaders if table not in API_KEYS else leaders.where(f"api_key = {API_KEYS[table]}")
    grouped = shared.groupBy("cluster_id", "broker_id").cogroup(relevant.groupBy("cluster_id", "broker_id"))
    counting = grouped.applyInArrow(_count_of(table), f"{declared.ddl}, {_AT} bigint")
    time = f"timestamp_micros({_AT})"
    counting = with_columns(counting, **{declared.time: time, "date": f"date_format({time}, 'yyyy-MM-dd')"})
    return others.unionByName(counting.select(*rows.columns))


_AT = "counts_at"


def _count_of(table: str) -> Callable[[pa.Table, pa.Table], pa.Table]:
    names = SILVER_SCHEMAS[table].names
    # What a report is about stands between the broker and the kind of change.
    key_names = names[3 : names.index("change")] if "change" in names else None
    own_api_key = API_KEYS.get(table)

    def count(rows: pa.Table, leaders: pa.Table) -> pa.Table:
        import pyarrow as pa

        by_api_key: dict[int, list[LeadingPeriod]] = defaultdict(list)
        for leader in leaders.to_pylist():
            start, stop = leader["start"], leader["stop"]
            period = LeadingPeriod(leader["poller_id"], -inf if start is None else start, inf if stop is None else stop)
            by_api_key[leader["api_key"]].append(period)
        for periods in by_api_key.values():
            periods.sort(key=lambda period: period.start)
        # A topic that is created again is reported as gone and as set in one response.
        order = [(_AT, "ascending")] + ([("change", "ascending")] if key_names is not None else [])
        rows = rows.sort_by(order)
        keys = (
            [()] * rows.num_rows if not key_names else zip(*(rows[name].to_pylist() for name in key_names), strict=True)
        )
        api_keys = [own_api_key] * rows.num_rows if own_api_key is not None else rows["api_key"].to_pylist()
        by_request: dict[int, tuple[list[int], list[Report]]] = defaultdict(lambda: ([], []))
        pollers, times = rows["poller_id"].to_pylist(), rows[_AT].to_pylist()
        for position, (poller_id, at, key, api_key) in enumerate(zip(pollers, times, keys, api_keys, strict=True)):
            positions, reports = by_request[api_key]
            positions.append(position)
            reports.append(Report(poller_id, at, key if key_names is not None else None))
        counting = sorted(
            (positions[index], at)
            for api_key, (positions, reports) in by_request.items()
            for index, at in counting_reports(reports, by_api_key.get(api_key, []))
        )
        taken = rows.take(pa.array([position for position, _ in counting], pa.int64()))
        at_column = pa.array([at for _, at in counting], pa.int64())
        return taken.set_column(taken.schema.get_field_index(_AT), _AT, at_column)

    return count
