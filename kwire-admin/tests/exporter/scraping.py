"""Series of clusters, parsed as Prometheus does."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from kwire.client.poll import Poll
from kwire.client.polled_requests import as_sequence
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.terminal.cluster import ClusterChoice
from kwire.testing.fake_offsets import SERVED
from kwire_admin.exporter.application import MonitoredCluster, monitor, page
from kwire_admin.exporter.cluster_requests import cluster_requests
from kwire_admin.exporter.cluster_view import ClusterView
from kwire_admin.exporter.metric_table import metric_table
from kwire_admin.exporter.observed_cluster import Selection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from kwire.testing import FakeCluster


class Series(dict[tuple[str, tuple[str, ...]], float]):
    """Values by name and values of labels, in the order of the labels, without the label `cluster`."""

    @classmethod
    def parse(cls, content: str, *, openmetrics: bool = False) -> Series:
        families = (parse_openmetrics if openmetrics else parse_text)(content)
        return cls(
            {
                (sample.name, tuple(value for name, value in sample.labels.items() if name != "cluster")): sample.value
                for family in families
                for sample in family.samples
            }
        )

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the series of one metric by labels."""
        return {labels: value for (metric, labels), value in self.items() if metric == name}

    def one(self, name: str, *labels: object) -> float | None:
        """Return the value of a series; None without it."""
        return self.get((name, tuple(map(str, labels))))


def scrape(*views: ClusterView, openmetrics: bool = False) -> Series:
    return Series.parse(text(*views, openmetrics=openmetrics), openmetrics=openmetrics)


def text(*views: ClusterView, openmetrics: bool = False) -> str:
    """Return a page of metrics."""
    return page(views, CollectorRegistry(), openmetrics=openmetrics).text().decode()


def view(names: str = "kwire", name: str = "test", **options: Any) -> ClusterView:
    """Return a view without responses; the options are those of Selection, and `clock`."""
    clock = {"clock": options.pop("clock")} if "clock" in options else {}
    return ClusterView(name, metric_table().names[names], Selection(**options), **clock)


def feed(of: ClusterView, cluster: FakeCluster, without: Collection[int] = ()) -> None:
    """Give a view the responses of all brokers, except for some, to one round of all requests, and render it."""
    state, offsets = cluster.state, cluster._offsets
    metadata = MetadataResponse(
        brokers=state.brokers, cluster_id="x", controller_id=1, topics=tuple(state.topics.values())
    )
    give_metadata(of, metadata)
    for broker in state.brokers:
        if broker.node_id in without:
            continue
        for polled in cluster_requests(of.state, 15, 60).polled:
            assert callable(polled.request)
            sequence = as_sequence(polled.request(metadata, broker.node_id))
            request: Any = next(sequence, None)
            while request is not None and request.api_key in SERVED:
                response = offsets.respond(state, broker.node_id, request, SERVED[request.api_key][1])
                try:
                    request = sequence.send(response)
                except StopIteration:
                    break
    of.render()


def respond(of: ClusterView, name: str, response: Any) -> None:
    """Give a view a response of broker 1 to the first request of a sequence."""
    requests = cluster_requests(of.state, 15, 60)
    polled = requests.polled[[*requests.sequences, *requests.shared].index(name)]
    assert callable(polled.request)
    sequence = as_sequence(polled.request(of.state.metadata, 1))
    next(sequence)
    with suppress(StopIteration):
        sequence.send(response)


def give_metadata(of: ClusterView, metadata: MetadataResponse, broker: int = 1) -> None:
    """Give a view the metadata of all topics."""
    now = datetime.fromtimestamp(of.state.clock(), UTC)
    poll = Poll[Any](metadata.cluster_id, broker, "fake:9092", now, 1000, metadata)
    of.state.take_poll(poll)
    of.state.take_metadata(poll, metadata)


@asynccontextmanager
async def monitored(bootstrap: str, *views: ClusterView, interval: float = 0.2, **options: Any) -> AsyncIterator[None]:
    """Poll a cluster for several views."""
    choice = ClusterChoice(None, bootstrap, options.pop("config", None), timeout=options.pop("timeout", 20.0))
    options = {"interval": interval, "long_interval": interval, **options}
    tasks = [asyncio.create_task(monitor(MonitoredCluster(each, choice, **options))) for each in views]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(outcome, asyncio.CancelledError), outcome
