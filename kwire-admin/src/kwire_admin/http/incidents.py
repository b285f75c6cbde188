"""Past incidents of the cluster, from the gold tables of a pipeline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from kwire._util.products import part

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PastIncident", "PastIncidents", "PipelineIncidents"]

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


class PipelineIncidents(Protocol):
    """Reads the incidents of a pipeline: the part `incidents` of kwire-pipeline (`kwire._util.products`).

    A row has the attributes of PastIncident.
    """

    def __call__(
        self, gold: str, cluster_id: str, since: datetime, known: int | None
    ) -> tuple[int, Sequence[PastIncident]]:
        """Return the number of the latest commit, and the incidents of a cluster since a time and ongoing ones.

        Args:
            gold: the folder or URI of the pipeline.
            cluster_id: the id of the cluster; empty for a cluster without an id.
            since: the time.
            known: the number of a commit whose incidents the caller has; they are not read again.
        """


class PastIncidents:
    """Reads the incidents of a pipeline's folder, again only after a commit.

    Args:
        gold: the folder or URI of the pipeline.

    Raises:
        MissingProduct: kwire-pipeline is not installed.
    """

    def __init__(self, gold: str) -> None:
        self._gold = gold
        self._latest: PipelineIncidents = part("incidents", "--gold")
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
        since = datetime.now(UTC) - PERIOD
        known = None if self._cached is None or self._cached[1] != cluster_id else self._cached[0]
        number, incidents = self._latest(self._gold, cluster_id or "", since, known)
        if self._cached is None or number != known:
            names = [field.name for field in fields(PastIncident)]
            rows = [PastIncident(*(getattr(incident, name) for name in names)) for incident in incidents]
            self._cached = (number, cluster_id, rows)
        return self._cached[2]
