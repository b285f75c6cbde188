"""The routes of the exporter, and a poller for each cluster.

A scrape shows what the last rendering knew. Metrics follow a burst of responses by RENDER_DELAY_S, so the answers of
all brokers to one round of requests are rendered once. A poller that ends with an error is started again, with nothing
known: a scrape never shows values that are not renewed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
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
from kwire_admin.exporter.history_file import SAVE_INTERVAL_S, HistoryFile, saved_histories
from kwire_admin.http.access import AccessControl, HttpRole, guarded
from kwire_admin.operations.parameters import Danger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from starlette.requests import Request

    from kwire.client.connection_config import ConnectionConfig
    from kwire_admin.exporter.cluster_view import ClusterView
    from kwire_admin.exporter.history_file import SavedHistory
    from kwire_admin.exporter.observed_cluster import ObservedCluster
    from kwire_admin.http.access import CertificateRole, Token
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
        history: the folder with the ends of logs over time; None to forget them at the end.
    """

    view: ClusterView
    bootstrap: str
    config: ConnectionConfig | None = None
    client_id: str = "kwire-exporter"
    timeout: float = 10.0
    interval: float = 15.0
    long_interval: float = 60.0
    incidents: PastIncidents | None = None
    history: Path | None = None


async def monitor(cluster: MonitoredCluster) -> None:
    """Poll a cluster and render what changed, until it is cancelled. After an error, all values are dropped first."""
    view = cluster.view
    while True:
        saver = HistorySaver(view.state, cluster.history)
        try:
            view.render()
            await _poll(cluster, saver)
        except asyncio.CancelledError:
            saver.save()
            raise
        except Exception:
            log.exception("polling of %s ended because of a bug: it begins again", view.name or cluster.bootstrap)
            view.reset()
            view.state.restarts += 1
            await asyncio.sleep(cluster.interval)


async def _poll(cluster: MonitoredCluster, saver: HistorySaver) -> None:
    """Poll a cluster and render what changed. Raises the error of a response that cannot be used."""
    view, loop = cluster.view, asyncio.get_running_loop()
    state = view.state
    state.answers.set_intervals(cluster.interval, cluster.long_interval, cluster.timeout)
    requests = cluster_requests(state, cluster.interval, cluster.long_interval, view.needs)
    async with Poller(
        cluster.bootstrap,
        interval=cluster.interval,
        dialect="kafka",
        topics="one",
        requests=requests.polled,
        timeout=cluster.timeout,
        longest_pause=cluster.interval,
        client_id=cluster.client_id,
        config=cluster.config,
    ) as poller:
        view.age_interval = cluster.interval / 2
        deadline, latest = loop.time() + cluster.interval, 0.0
        while True:
            # Responses of a round arrive within a moment of each other, so they are rendered together once no more
            # arrive. Without any response, values become stale, too.
            try:
                async with asyncio.timeout_at(deadline):
                    poll = await anext(poller)
            except TimeoutError:
                deadline, latest = loop.time() + cluster.interval, 0.0
                has_asked = state.has_asked(poller.broker_ids, requests.sequences, requests.shared)
                if not view.is_due(cluster.interval) and view.is_ready >= has_asked:
                    continue  # most polls of Metadata find no change
                state.forget_brokers(poller.broker_ids)
                state.certificate_ends = poller.certificate_expiries
                if cluster.incidents is not None and state.metadata is not None:
                    state.incidents = await ongoing_incidents(cluster.incidents, state.metadata.cluster_id)
                saver.load()
                for _ in view.rendering(is_complete=has_asked):
                    await asyncio.sleep(0)  # a scrape, and the responses of brokers, have their turn
                await saver.save_if_due()
                continue
            state.take_poll(poll)
            state.take_metadata(poll, poller.agreed)
            now = loop.time()
            latest = latest or now + LONGEST_DELAY_S
            deadline = min(now + RENDER_DELAY_S, latest)


class HistorySaver:
    """Reads the history of a cluster once its id is known, and writes it from then on."""

    def __init__(self, state: ObservedCluster, folder: Path | None) -> None:
        self._state, self._folder = state, folder
        self._file: HistoryFile | None = None
        self._due = 0.0

    def load(self) -> None:
        """Read the file, once the cluster is known."""
        metadata = self._state.metadata
        if self._folder is not None and self._file is None and metadata is not None:
            self._file = HistoryFile(self._folder, metadata.cluster_id or "")
            self._state.saved = self._file.read()
            self._due = time.monotonic() + SAVE_INTERVAL_S

    async def save_if_due(self) -> None:
        """Write the file in a thread, if the last time is long ago."""
        if self._file is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + SAVE_INTERVAL_S
            await asyncio.to_thread(self._file.write, self._histories())

    def save(self) -> None:
        """Write the file, if the cluster was ever known."""
        if self._file is not None:
            self._file.write(self._histories())

    def _histories(self) -> dict[str, SavedHistory]:
        # What was not taken yet is still known: the cluster may have been unreachable since the start.
        return self._state.saved | saved_histories(self._state.topics.records)


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
    return AccessControl(
        Starlette(routes=routes, lifespan=lifespan), tokens, anonymous, public=["/", "/healthz", "/readyz"]
    )


def _status(is_good: bool, good: str, bad: str) -> Response:
    content = json.dumps({"status": good if is_good else bad})
    return Response(content, 200 if is_good else 503, media_type="application/json")
