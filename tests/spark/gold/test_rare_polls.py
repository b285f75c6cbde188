"""Incidents of the recordings at the intervals between polls that people use, compared with polls every half second."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.spark import gold
from kwire.spark.store.commits import PipelineStore
from tests.spark import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

Incident = dict[str, Any]

FAMILIES = {
    **dict.fromkeys(("broker_killed", "broker_paused", "broker_lost", "controlled_shutdown"), "outage"),
    **dict.fromkeys(("broker_restarted", "broker_resumed", "broker_returned"), "return"),
}


class Difference(NamedTuple):
    """Number of incidents that were found with another kind, missed, and found without reason."""

    other_kind: int
    missed: int
    false: int


BOUNDS = {
    ("zk39-public", 5): Difference(2, 0, 0),
    ("zk39-public", 10): Difference(2, 0, 0),
    ("zk39-public", 30): Difference(3, 4, 0),
    ("kraft44-public", 5): Difference(0, 0, 0),
    ("kraft44-public", 10): Difference(4, 0, 0),
    ("kraft44-public", 30): Difference(4, 6, 0),
}
"""Some incidents begin and end between two polls of 30 seconds, or after the last one: they cannot be found."""


def test_few_incidents_are_missed_with_rare_polls(spark: SparkSession, recorded_gold: str, tmp_path: Path) -> None:
    rows = [row for name, seconds in BOUNDS for row in thinned(name, seconds)]
    recorded.write_silver(rows, tmp_path)
    gold.build(spark, PipelineStore(str(tmp_path)))
    frequent, rare = incidents(recorded_gold), incidents(tmp_path)

    worse = {}
    for (name, seconds), bound in BOUNDS.items():
        tolerance = timedelta(seconds=2 * seconds + 3)
        found = difference(frequent[name], rare[f"{name} every {seconds} s"], tolerance)
        if any(count > maximum for count, maximum in zip(found, bound, strict=True)):
            worse[name, seconds] = found
    assert worse == {}


def thinned(name: str, seconds: int) -> Iterator[Row]:
    """Return at most one poll of each request in an interval."""
    last: dict[tuple[Any, ...], float] = {}
    for row in recorded.bronze(name):
        key = row.broker_id, row.api_key, row.request[8:] if row.api_key == 32 and row.request else None
        at = row.polled_at.timestamp()
        if at - last.get(key, 0) >= seconds - 0.3:
            last[key] = at
            yield row._replace(cluster_id=f"{name} every {seconds} s")


def incidents(out: Path | str) -> dict[str, list[Incident]]:
    """Return the incidents by cluster."""
    dataset = PipelineStore(str(out)).snapshot().dataset("gold/incidents")
    assert dataset is not None
    by_cluster: dict[str, list[Incident]] = {}
    for incident in dataset.to_table().to_pylist():
        by_cluster.setdefault(incident["cluster_id"], []).append(incident)
    return by_cluster


def difference(wanted: list[Incident], found: list[Incident], tolerance: timedelta) -> Difference:
    """Compare incidents: first those of equal kind and broker, then those of one broker or of related kinds."""

    def family(incident: Incident) -> str:
        return str(FAMILIES.get(incident["kind"], incident["kind"]))

    rest, missing, other_kind = list(found), [], 0
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
