"""Past incidents of the cluster, from the gold tables of a pipeline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kwire.report.phrasing import incident_impact, incident_title, utc_time

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PastIncident", "PastIncidents"]

PERIOD = timedelta(days=30)
"""Period of the incidents that the server shows, besides ongoing ones. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class PastIncident:
    """An incident of gold.

    Attributes:
        id: the id in gold.
        kind: the kind in gold, such as `broker_killed`.
        title: the incident in a few words.
        impact: the partitions that it affected; empty if none.
        cause: the cause in gold.
        caused_by: the id of the incident that caused it; None if none did.
        broker: the broker; None if it is not about one.
        began: the time when it began.
        ended: the time when it ended; None while it lasts.
        topics: the first topics.
    """

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


class PastIncidents:
    """Reads the incidents of a pipeline's folder, again only after a commit.

    Args:
        gold: the folder or URI of the pipeline.
    """

    def __init__(self, gold: str) -> None:
        self._gold = gold
        self._read = asyncio.Lock()
        self._cached: tuple[int, str | None, Sequence[PastIncident]] | None = None

    async def rows(self, cluster_id: str | None) -> Sequence[PastIncident]:
        """Return the incidents of a cluster in the last 30 days, and ongoing ones, the latest first.

        Args:
            cluster_id: the id of the cluster; None for a cluster without an id.

        Raises:
            MissingGold: the folder has no gold tables.
        """
        async with self._read:
            return await asyncio.to_thread(self._rows, cluster_id)

    def _rows(self, cluster_id: str | None) -> Sequence[PastIncident]:
        from kwire.report.history_reader import latest_incidents  # imports pyarrow, of the extra `report`

        since = datetime.now(UTC) - PERIOD
        known = None if self._cached is None or self._cached[1] != cluster_id else self._cached[0]
        number, incidents = latest_incidents(self._gold, cluster_id or "", since, known)
        if self._cached is None or number != known:
            rows = [
                PastIncident(
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
            self._cached = (number, cluster_id, rows)
        return self._cached[2]
