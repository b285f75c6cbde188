"""Comparison of the incidents of a recording with the incidents of a worse one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.store.commits import PipelineStore

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

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
