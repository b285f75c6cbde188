"""`broker_load`: the leaders and replicas of each broker in each hour, and its share compared with an equal one.

Figures are means over time: a broker that leads 100 partitions for half an hour and none for the other half has 50.
They are computed from the changes alone: a state that begins or ends changes the load for the rest of the hour.
"""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import aggregate, select
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "broker_load",
    "The leaders and replicas of each broker in each hour.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the beginning of the hour", "UTC"),
        Column("broker_id", "int", "the broker"),
        Column("leaders", "double", "partitions that it leads, mean over the polled part of the hour", "partitions"),
        Column("replicas", "double", "partitions with a replica on it, in sync or not, mean", "partitions"),
        Column("leaders_at_end", "bigint", "partitions that it leads at the end of the hour", "partitions"),
        Column("replicas_at_end", "bigint", "partitions with a replica on it at the end of the hour", "partitions"),
        Column(
            "leader_share",
            "double",
            "`leaders` divided by an equal share among the brokers that have replicas; 1.0 is an equal share",
        ),
        Column("replica_share", "double", "`replicas` divided by an equal share"),
    ),
)

HOUR = 3_600_000_000


STEPS = "cluster_id string, broker_id int, us bigint, leads bigint, holds bigint"
"""Schema of changes: `leads` and `holds` are added to the counts of a broker at `us`."""


def load_steps(transitions: DataFrame) -> DataFrame:
    """Return the rows of `STEPS` for the agreed states of a window."""
    rows = transitions.where("present")
    interval = "cluster_id, since, until, carried"
    roles = select(rows, f"{interval}, explode(replicas) AS broker_id, 0 AS leads, 1 AS holds").unionByName(
        select(rows.where("leader >= 0"), f"{interval}, leader AS broker_id, 1 AS leads, 0 AS holds")
    )
    columns = "cluster_id, broker_id, {sign} * leads AS leads, {sign} * holds AS holds"
    began = select(roles.where("NOT carried"), f"{columns.format(sign=1)}, since AS us")
    ended = select(roles.where("until IS NOT NULL"), f"{columns.format(sign=-1)}, until AS us")
    return aggregate(began.unionByName(ended), "cluster_id, broker_id, us", _SUMS)


_SUMS = "CAST(sum(leads) AS bigint) AS leads, CAST(sum(holds) AS bigint) AS holds"


def loads_at(steps: DataFrame, as_of: int) -> DataFrame:
    """Return the loads at a time, as steps at that time."""
    rows = aggregate(steps.where(f"us < {as_of}"), "cluster_id, broker_id", _SUMS).where("leads <> 0 OR holds <> 0")
    return select(rows, f"cluster_id, broker_id, CAST({as_of} AS bigint) AS us, leads, holds")


def broker_load(steps: DataFrame, periods: DataFrame) -> DataFrame:
    """Return the rows of `TABLE` for the polled hours.

    Args:
        steps: the steps of a window, and the loads at its beginning (`loads_at`).
        periods: the voting periods.
    """
    bounds = aggregate(periods, "cluster_id", "max(end) AS end, min(start) AS start")
    return steps.join(bounds, ["cluster_id"]).groupBy("cluster_id").applyInArrow(_loads, TABLE.ddl)


def _loads(steps: pa.Table) -> pa.Table:
    """Return the loads of one cluster, from the steps by which the loads of its brokers rise and fall."""
    import pyarrow as pa

    rows = sorted(steps.to_pylist(), key=lambda row: (row["broker_id"], row["us"]))
    if not rows:
        return TABLE.arrow.empty_table()
    start, end = rows[0]["start"], rows[0]["end"]
    hours = range(start // HOUR * HOUR, end + 1, HOUR)
    counts_by_hour = []
    for broker_id, of_broker in groupby(rows, key=lambda row: row["broker_id"]):
        queue = deque(of_broker)
        now = {"leads": 0, "holds": 0}
        for hour in hours:
            first, last = max(hour, start), min(hour + HOUR, end)
            at_start = dict(now)
            rest = {"leads": 0, "holds": 0}
            while queue and queue[0]["us"] < hour + HOUR:
                step = queue.popleft()
                # A state that began before the polled part of the hour counts from its beginning.
                late = step["us"] > first
                for name in now:
                    now[name] += step[name]
                    rest[name] += step[name] * (last - step["us"]) if late else 0
                    at_start[name] += 0 if late else step[name]
            length = max(last - first, 1)
            loads = {name: at_start[name] + rest[name] / length for name in now}
            if any(loads.values()):
                counts_by_hour.append((hour, broker_id, loads, dict(now)))
    fair: dict[int, dict[str, float]] = {}
    for hour in hours:
        here = [loads for at, _, loads, _ in counts_by_hour if at == hour]
        fair[hour] = {name: sum(loads[name] for loads in here) / max(len(here), 1) for name in ("leads", "holds")}
    table = [
        {
            "cluster_id": rows[0]["cluster_id"],
            "at": hour,
            "broker_id": broker_id,
            "leaders": loads["leads"],
            "replicas": loads["holds"],
            "leaders_at_end": now["leads"],
            "replicas_at_end": now["holds"],
            "leader_share": loads["leads"] / fair[hour]["leads"] if fair[hour]["leads"] else None,
            "replica_share": loads["holds"] / fair[hour]["holds"] if fair[hour]["holds"] else None,
        }
        for hour, broker_id, loads, now in counts_by_hour
    ]
    return pa.Table.from_pylist(table, schema=TABLE.arrow)
