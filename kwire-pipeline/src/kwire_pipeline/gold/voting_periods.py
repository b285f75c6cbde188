"""Voting periods: when each broker responds and therefore has a vote on the agreed state.

A broker gains its vote with a response and loses it

- with the first failed poll, until it responds again;
- while its responses are suspect: they list no topics or no brokers although the broker has listed some before. A
  restarted Kafka 3.9 responds so, with error 0, before its controller has sent it the metadata. Silver ignores such a
  response until the next one agrees;
- when it is not polled for five of its usual intervals, and at least ten seconds: its last report is old.

Only Metadata polls count; other requests fail for other reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.signal import PollFailure
from kwire_pipeline.in_process import aggregate, select, time_literal, with_columns

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

METADATA = 3
UNREADABLE = "unreadable "
"""Start of the error of a response that cannot be decoded: the broker did respond."""

FAILURE_PATTERNS = {
    PollFailure.REFUSED: r"(?i)refused",
    PollFailure.TIMED_OUT: r"(?i)no (answer|response)|time[ds]?[- ]?out|within [0-9.]+ s",
    PollFailure.CLOSED: r"(?i)closed|reset|broken pipe|eof|disconnect|incomplete",
}
"""Regular expressions that classify errors; the first match counts."""

SHORTEST_PATIENCE = 10.0
"""Seconds without a poll that a vote lasts at least."""


def metadata_polls(polls: DataFrame) -> DataFrame:
    """Return the Metadata polls with what gold needs about the polls before each.

    The columns are cluster_id, broker_id, polled_at, topics, controller_id, failed, failure (a `PollFailure`), suspect,
    and

    - before: polled_at of the poll before; null for the first;
    - failed_before, failed_twice_before: whether the poll before, and the one before that, failed;
    - answered_before: polled_at of the last response before; null if there is none;
    - interval: the broker's usual interval in seconds.
    """
    order = "PARTITION BY cluster_id, broker_id ORDER BY polled_at"
    rows = polls.where(f"api_key = {METADATA} AND NOT coalesce(startswith(error, '{UNREADABLE}'), false)")
    rows = select(
        rows,
        f"""cluster_id, broker_id, polled_at, topics, kind = 'error' AS failed,
        CASE WHEN kind <> 'error' THEN controller_id END AS controller_id,
        CASE WHEN kind = 'error' THEN {_failure()} END AS failure,
        coalesce(suspect, false) AS suspect,
        lag(polled_at) OVER ({order}) AS before,
        lag(kind = 'error') OVER ({order}) AS failed_before,
        lag(kind = 'error', 2) OVER ({order}) AS failed_twice_before,
        max(CASE WHEN kind <> 'error' THEN polled_at END) OVER (
            {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS answered_before""",
    )
    return select(
        rows,
        """*, percentile_approx(unix_micros(polled_at) - unix_micros(before), 0.5) OVER (
            PARTITION BY cluster_id, broker_id
        ) / 1e6 AS `interval`""",
    )


def _failure() -> str:
    cases = (f"WHEN regexp_like(error, '{pattern}') THEN '{kind}'" for kind, pattern in FAILURE_PATTERNS.items())
    return f"CASE {' '.join(cases)} ELSE '{PollFailure.OTHER}' END"


def voting_periods(metadata: DataFrame, start: datetime | None = None) -> DataFrame:
    """Return the voting periods: cluster_id, broker_id, start, stop, end, and voted_until, in microseconds since 1970.

    `end` is the time of the cluster's last poll. A period that has not ended has a `stop` after it. `voted_until` is
    the time of the cluster's last poll before the window that begins at `start`; null if there is none.
    """
    order = "(PARTITION BY cluster_id, broker_id ORDER BY polled_at)"
    is_before = "false" if start is None else f"polled_at < {time_literal(start)}"
    polls = select(
        metadata,
        f"""cluster_id, broker_id, unix_micros(polled_at) AS at, NOT failed AND NOT suspect AS good,
        unix_micros(polled_at) + CAST(
            floor(greatest({SHORTEST_PATIENCE}, 5 * coalesce(`interval`, 0.0)) * 1e6) AS bigint
        ) AS latest,
        lead(unix_micros(polled_at)) OVER {order} AS next,
        max(unix_micros(polled_at)) OVER (PARTITION BY cluster_id) AS end,
        max(CASE WHEN {is_before} THEN unix_micros(polled_at) END) OVER (PARTITION BY cluster_id) AS voted_until""",
    )
    polls = select(polls, "*, least(latest, coalesce(next, latest)) AS stop")
    order = "(PARTITION BY cluster_id, broker_id ORDER BY at)"
    continued = f"coalesce(lag(good) OVER {order} AND lag(stop) OVER {order} >= at, false)"
    polls = select(polls, f"*, CAST(good AND NOT {continued} AS int) AS begins")
    polls = select(polls, f"*, CAST(sum(begins) OVER {order} AS bigint) AS period").where("good")
    return aggregate(
        polls,
        "cluster_id, broker_id, period",
        "min(at) AS start, max(stop) AS stop, max(end) AS end, max(voted_until) AS voted_until",
    ).drop("period")


def attribute_unanswered(polls: DataFrame, later_polls: DataFrame, brokers: DataFrame) -> DataFrame:
    """Fill in the cluster id of unanswered polls, and drop polls that cannot be attributed.

    A broker that is down when recording starts has not reported its cluster id, so silver stores its failed polls with
    `cluster_id = ''`. Once the same endpoint responds, they are attributed to the cluster that it reports. Failed polls
    of endpoints that never respond, or that several clusters claim, are dropped. Clusters without an id (kip4) keep
    `''`, and so do the failed polls of a cluster that has never responded, if no other cluster is known.

    Args:
        polls: the polls of the window to build.
        later_polls: all polls since the window began; the responses that identify an endpoint may come later.
        brokers: the `brokers` table of silver, unrestricted in time.
    """
    unattributed = polls.where("cluster_id = ''")
    if unattributed.isEmpty():
        return polls
    answered = later_polls.where("cluster_id <> '' and endpoint <> '' and kind <> 'error'")
    is_broker = "CASE WHEN broker_id >= 0 THEN broker_id END"
    owners = aggregate(
        answered,
        "endpoint",
        f"""min(cluster_id) AS owner, max(cluster_id) AS other_owner,
        min({is_broker}) AS owner_id, max({is_broker}) AS other_owner_id""",
    )
    # Skip endpoints that several clusters or brokers claim.
    owners = owners.where("owner = other_owner and owner_id <=> other_owner_id")
    rows = unattributed.join(owners.select("endpoint", "owner", "owner_id"), ["endpoint"], "left")
    attributed = "(owner IS NOT NULL AND (broker_id < 0 OR broker_id <=> owner_id) AND kind = 'error')"
    if brokers.where("cluster_id = ''").isEmpty() and not brokers.isEmpty():
        rows = rows.where(attributed)
    rows = with_columns(
        rows,
        cluster_id=f"CASE WHEN {attributed} THEN owner ELSE cluster_id END",
        broker_id=f"CASE WHEN {attributed} THEN coalesce(owner_id, broker_id) ELSE broker_id END",
    )
    return polls.where("cluster_id <> ''").unionByName(rows.select(*polls.columns))
