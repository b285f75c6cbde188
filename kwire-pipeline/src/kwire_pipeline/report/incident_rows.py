"""Incidents as `kafka http` shows them: the part `incidents` (`kwire._util.products`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_pipeline.report.phrasing import incident_impact, incident_title, utc_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = ["IncidentRow", "incident_rows"]


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """An incident of gold in words; `kafka http` documents the attributes in its OpenAPI description."""

    id: str
    kind: str
    title: str
    impact: str
    cause: str
    caused_by: str | None
    broker: int | None
    began: datetime
    ended: datetime | None
    topics: tuple[str, ...]


def incident_rows(gold: str, cluster_id: str, since: datetime, known: int | None) -> tuple[int, Sequence[IncidentRow]]:
    """Return the number of the latest commit, and incidents of a cluster, the latest first.

    Args:
        gold: the folder or URI of the pipeline.
        cluster_id: the id of the cluster; empty for a cluster without an id.
        since: incidents that ended before are left out.
        known: the number of a commit; if it is the latest one, no incidents are returned.

    Raises:
        MissingGold: the folder has no gold tables.
    """
    from kwire_pipeline.report.history_reader import latest_incidents  # imports pyarrow, of the extra `report`

    number, incidents = latest_incidents(gold, cluster_id, since, known)
    return number, [
        IncidentRow(
            incident.id,
            incident.kind,
            incident_title(incident),
            incident_impact(incident),
            incident.cause,
            incident.caused_by,
            incident.broker,
            utc_time(incident.began),
            None if incident.ended is None else utc_time(incident.ended),
            incident.topics,
        )
        for incident in incidents
    ]
