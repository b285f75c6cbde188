"""The routes of the exporter, and a poller for each cluster.

A scrape shows what the last rendering knew. Metrics follow a burst of responses by RENDER_DELAY_S, so the answers of
all brokers to one round of requests are rendered once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import prometheus_client
from prometheus_client.openmetrics import exposition as openmetrics_exposition
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from kwire.client.poller import Poller
from kwire.errors import KwireError
from kwire.exporter.cluster_requests import cluster_requests
from kwire.exporter.exposition import OPENMETRICS, TEXT, MetricsPage
from kwire.http.access import AccessControl, HttpRole, guarded
from kwire.operations.parameters import Danger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from starlette.requests import Request

    from kwire.client.connection_config import ConnectionConfig
    from kwire.exporter.cluster_view import ClusterView
    from kwire.http.access import CertificateRole, Token
    from kwire.http.incidents import PastIncidents

__all__ = ["MonitoredCluster", "application", "monitor", "page"]

log = logging.getLogger("kwire.exporter")

RENDER_DELAY_S = 0.5
"""Seconds from the first response of a round to its rendering. Chosen: most brokers answer within milliseconds."""


class MonitoredCluster(NamedTuple):
    """A cluster, how to connect to it, and how often to ask.

    Attributes:
        view: the state and the series of the cluster.
        bootstrap: some of its brokers.
        config: TLS and SASL; None for plaintext.
        client_id: the client id of all requests.
        timeout: seconds for each request.
        interval: seconds between two requests for metadata, groups, and ends of logs.
        long_interval: seconds between two requests for what changes rarely.
        incidents: the incidents that a pipeline has found; None if it is not known.
    """

    view: ClusterView
    bootstrap: str
    config: ConnectionConfig | None = None
    client_id: str = "kwire-exporter"
    timeout: float = 10.0
    interval: float = 15.0
    long_interval: float = 60.0
    incidents: PastIncidents | None = None


async def monitor(cluster: MonitoredCluster) -> None:
    """Poll a cluster and render what changed, until it is cancelled."""
    view, loop = cluster.view, asyncio.get_running_loop()
    view.render()
    async with Poller(
        cluster.bootstrap,
        interval=cluster.interval,
        dialect="kafka",
        topics="one",
        requests=cluster_requests(view, cluster.interval, cluster.long_interval),
        timeout=cluster.timeout,
        longest_pause=cluster.interval,
        client_id=cluster.client_id,
        config=cluster.config,
    ) as poller:
        deadline: float | None = None
        while True:
            # Responses of a round arrive within a moment of each other, so the first one sets the time of the next
            # rendering, and the others wait for it.
            try:
                async with asyncio.timeout_at(deadline):
                    poll = await anext(poller)
            except TimeoutError:
                deadline = None
                view.forget_brokers(poller.broker_ids)
                view.certificate_ends = poller.certificate_expiries
                if cluster.incidents is not None and view.metadata is not None:
                    view.incidents = await ongoing_incidents(cluster.incidents, view.metadata.cluster_id)
                view.render()
                continue
            view.add_poll(poll)
            view.set_metadata(poller.agreed)
            deadline = deadline or loop.time() + RENDER_DELAY_S


async def ongoing_incidents(incidents: PastIncidents, cluster_id: str | None) -> Counter[str]:
    """Return the number of incidents that have not ended, by kind; none if they cannot be read."""
    try:
        rows = await incidents.rows(cluster_id)
    except KwireError as error:
        log.warning("cannot read incidents: %s", error)
        return Counter()
    return Counter(incident.kind for incident in rows if incident.ended is None)


def page(
    views: Sequence[ClusterView], registry: prometheus_client.CollectorRegistry, *, openmetrics: bool
) -> MetricsPage:
    """Return what is known about some clusters and this process."""
    generate = openmetrics_exposition.generate_latest if openmetrics else prometheus_client.generate_latest
    families = zip(*(view.families for view in views), strict=True)
    return MetricsPage.of(families, generate(registry), openmetrics=openmetrics)


def application(
    clusters: Sequence[MonitoredCluster],
    tokens: Iterable[Token | CertificateRole] = (),
    anonymous: HttpRole = HttpRole.READ,
) -> AccessControl:
    """Return the ASGI application that polls clusters and serves their metrics.

    Args:
        clusters: the clusters.
        tokens: the tokens and certificates; without any, the server must listen on loopback only.
        anonymous: role of requests without a token if there are no tokens.
    """
    views = [cluster.view for cluster in clusters]
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    tasks: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for cluster in clusters:
            task = tasks[cluster.view.name] = asyncio.create_task(monitor(cluster))
            task.add_done_callback(_log_failure)
        yield
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def metrics(request: Request) -> Response:
        openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        headers = {"Content-Type": OPENMETRICS if openmetrics else TEXT, "Vary": "Accept, Accept-Encoding"}
        content = page(views, registry, openmetrics=openmetrics)
        if "gzip" in request.headers.get("accept-encoding", ""):
            body = await asyncio.to_thread(content.gzip)  # zlib releases the interpreter, so polls go on
            headers["Content-Encoding"] = "gzip"
        else:
            body = b"".join(content.parts)
        return Response(body, headers=headers)

    async def health(_: Request) -> Response:
        """Answer that every cluster is polled, reachable or not; `kwire_exporter_cluster_up` is about that."""
        failed = any(task.done() for task in tasks.values())
        return Response(
            json.dumps({"status": "failed" if failed else "ok"}), 503 if failed else 200, media_type="application/json"
        )

    routes = [Route("/metrics", guarded(Danger.READS, metrics)), Route("/healthz", health)]
    return AccessControl(Starlette(routes=routes, lifespan=lifespan), tokens, anonymous, public=["/healthz"])


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("polling ended because of a bug", exc_info=task.exception())
