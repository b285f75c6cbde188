"""The routes of the exporter, and a poller for each cluster.

A scrape shows what the last rendering knew. Metrics follow a burst of responses by RENDER_DELAY_S, so the answers of
all brokers to one round of requests are rendered once. A poller that ends with an error is started again, with nothing
known: a scrape never shows values that are not renewed.
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
from kwire_admin.exporter.cluster_requests import cluster_requests
from kwire_admin.exporter.exposition import OPENMETRICS, TEXT, MetricsPage
from kwire_admin.exporter.history_file import HistorySaver
from kwire_admin.http.access import AccessControl, HttpRole, guarded
from kwire_admin.operations.parameters import Danger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from starlette.requests import Request

    from kwire.terminal.cluster import ClusterChoice
    from kwire_admin.exporter.cluster_view import ClusterView
    from kwire_admin.http.access import HttpCredential
    from kwire_admin.http.incidents import PastIncidents

__all__ = ["MonitoredCluster", "application", "monitor", "page"]

log = logging.getLogger("kwire_admin.exporter")

PATHS = """\
/metrics   the series, for Prometheus
/healthz   200 while this program runs
/readyz    200 once the values of every cluster are complete
"""
PUBLIC = ("/", "/healthz", "/readyz")
"""Paths that need no token, since they contain nothing about a cluster."""
RENDER_DELAY_S = 0.5
"""Seconds without a response from which a round is rendered. Chosen: most brokers answer within milliseconds."""
LONGEST_DELAY_S = 2.0
"""Seconds from the first response of a round to its rendering, although others arrive. Chosen: the rounds of all
brokers begin within a second, and a part that is rendered twice costs twice as much."""


class MonitoredCluster(NamedTuple):
    """A cluster, and how often to ask.

    Attributes:
        view: the state and the series of the cluster.
        cluster: its brokers, and how to connect to them.
        interval: seconds between two requests for metadata, groups, and ends of logs.
        long_interval: seconds between two requests for what changes rarely.
        incidents: the incidents that a pipeline has found; None if it is not known.
        history: the folder with the ends of logs over time; None to forget them at the end.
    """

    view: ClusterView
    cluster: ClusterChoice
    interval: float = 15.0
    long_interval: float = 60.0
    incidents: PastIncidents | None = None
    history: Path | None = None


async def monitor(monitored: MonitoredCluster) -> None:
    """Poll a cluster and render what changed, until it is cancelled. After an error, all values are dropped first."""
    view = monitored.view
    while True:
        history = None if monitored.history is None else HistorySaver(view.state, monitored.history)
        try:
            view.render()
            await _poll(monitored, history)
        except asyncio.CancelledError:
            if history is not None:
                history.save()
            raise
        except Exception:
            log.exception(
                "polling of %s ended because of a bug: it begins again", view.name or monitored.cluster.bootstrap
            )
            view.reset()
            view.state.restarts += 1
            await asyncio.sleep(monitored.interval)


async def _poll(monitored: MonitoredCluster, history: HistorySaver | None) -> None:
    """Poll a cluster and render what changed. Raises the error of a response that cannot be used."""
    view, cluster, interval = monitored.view, monitored.cluster, monitored.interval
    state, loop = view.state, asyncio.get_running_loop()
    state.answers.set_intervals(interval, monitored.long_interval, cluster.timeout)
    requests = cluster_requests(state, interval, monitored.long_interval, view.needs)
    async with Poller(
        cluster.bootstrap,
        interval=interval,
        dialect="kafka",
        topics="one",
        requests=requests.polled,
        timeout=cluster.timeout,
        longest_pause=interval,
        client_id=cluster.client_id,
        config=cluster.config,
    ) as poller:
        view.age_interval = interval / 2
        deadline, latest = loop.time() + interval, 0.0
        while True:
            # Responses of a round arrive within a moment of each other, so they are rendered together once no more
            # arrive. Without any response, values become stale, too.
            try:
                async with asyncio.timeout_at(deadline):
                    poll = await anext(poller)
            except TimeoutError:
                deadline, latest = loop.time() + interval, 0.0
                has_asked = state.has_asked(poller.broker_ids, requests.sequences, requests.shared)
                if not view.is_due(interval) and view.is_ready >= has_asked:
                    continue  # most polls of Metadata find no change
                state.forget_brokers(poller.broker_ids)
                state.certificate_ends = poller.certificate_expiries
                if monitored.incidents is not None and state.metadata is not None:
                    state.incidents = await ongoing_incidents(monitored.incidents, state.metadata.cluster_id)
                if history is not None:
                    history.load()
                for _ in view.rendering(is_complete=has_asked):
                    await asyncio.sleep(0)  # a scrape, and the responses of brokers, have their turn
                if history is not None:
                    await history.save_if_due()
                continue
            state.take_poll(poll)
            state.take_metadata(poll, poller.agreed)
            now = loop.time()
            latest = latest or now + LONGEST_DELAY_S
            deadline = min(now + RENDER_DELAY_S, latest)


async def ongoing_incidents(incidents: PastIncidents, cluster_id: str | None) -> Counter[str]:
    """Return the number of incidents that have not ended, by kind; none if they cannot be read."""
    try:
        rows = await incidents.rows(cluster_id)
    except KwireError as error:
        log.warning("cannot read incidents: %s", error)
        return Counter()
    return Counter(incident.kind for incident in rows if incident.ended is None)


def page(
    views: Sequence[ClusterView],
    registry: prometheus_client.CollectorRegistry,
    *,
    openmetrics: bool,
    is_gzip: bool = False,
) -> MetricsPage:
    """Return what is known about some clusters and this process. `is_gzip`: True for `gzip`, False for `text`."""
    generate = openmetrics_exposition.generate_latest if openmetrics else prometheus_client.generate_latest
    families = zip(*(view.families for view in views), strict=True)
    return MetricsPage.of(families, generate(registry), openmetrics=openmetrics, is_gzip=is_gzip)


def application(
    clusters: Sequence[MonitoredCluster],
    tokens: Iterable[HttpCredential] = (),
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
    tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks.extend(asyncio.create_task(monitor(cluster)) for cluster in clusters)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def metrics(request: Request) -> Response:
        openmetrics = "application/openmetrics-text" in request.headers.get("accept", "")
        headers = {"Content-Type": OPENMETRICS if openmetrics else TEXT, "Vary": "Accept, Accept-Encoding"}
        is_gzip = "gzip" in request.headers.get("accept-encoding", "")
        content = page(views, registry, openmetrics=openmetrics, is_gzip=is_gzip)
        if is_gzip:
            body = await asyncio.to_thread(content.gzip)  # zlib releases the interpreter, so polls go on
            headers["Content-Encoding"] = "gzip"
        else:
            body = content.text()
        return Response(body, headers=headers)

    async def health(_: Request) -> Response:
        """Answer that every cluster is polled, reachable or not; `kwire_exporter_cluster_up` is about that."""
        return _status(not any(task.done() for task in tasks), "ok", "failed")

    async def ready(_: Request) -> Response:
        """Answer that the values of every cluster are complete; a cluster that cannot be reached is not ready."""
        return _status(all(view.is_ready for view in views), "ready", "not ready")

    async def index(_: Request) -> Response:
        """Name the other paths."""
        return Response(PATHS, media_type="text/plain; charset=utf-8")

    routes = [
        Route("/", index),
        Route("/metrics", guarded(Danger.READS, metrics)),
        Route("/healthz", health),
        Route("/readyz", ready),
    ]
    return AccessControl(Starlette(routes=routes, lifespan=lifespan), tokens, anonymous, PUBLIC)


def _status(is_good: bool, good: str, bad: str) -> Response:
    content = json.dumps({"status": good if is_good else bad})
    return Response(content, 200 if is_good else 503, media_type="application/json")
