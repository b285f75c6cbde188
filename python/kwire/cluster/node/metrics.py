"""What a node counts, and how Prometheus reads it.

Rules of this file: counting is adding to an integer, since it happens with every request; names, help and labels are
put to the numbers when somebody reads them. Names follow Prometheus' rules: a unit at the end, ``_total`` on counters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.metrics_core import Metric

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: from an answer out of memory to one that waits for a large batch."""


class Durations:
    """How long the requests of one API took."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Metrics(Collector):
    """The counters of one node. ``gauges``: by name, what it means and how to read it now."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.at_once: Counter[str] = Counter()
        """Requests answered out of memory, by message: too many and too quick to take the time of each."""
        self.durations: dict[str, Durations] = {}
        """Of all other requests, by message."""
        self.errors: Counter[tuple[str, int]] = Counter()
        """Error codes in answers, by message."""
        self.closed: Counter[str] = Counter()
        """Connections that the node closed, by the kind of reason."""
        self.connections = 0
        self.faults = 0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def took(self, message: str, seconds: float) -> None:
        durations = self.durations.get(message)
        if durations is None:
            durations = self.durations[message] = Durations()
        durations.add(seconds)

    def serve(self, host: str, port: int) -> tuple[int, Callable[[], None]]:
        """Serve them over HTTP from a thread; the port, and what ends it. Raises OSError for an address in use."""
        registry = CollectorRegistry()
        registry.register(self)
        server, thread = start_http_server(port, addr=host, registry=registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return server.server_port, stop

    def collect(self) -> Iterator[Metric]:
        node = str(self.node_id)
        requests = CounterMetricFamily("kwire_requests", "Requests answered.", labels=("node", "message"))
        seconds = HistogramMetricFamily(
            "kwire_request_duration_seconds",
            "From a request's last byte to its answer's first, where it was not answered out of memory.",
            labels=("node", "message"),
        )
        for message, count in list(self.at_once.items()):
            requests.add_metric((node, message), count)
        for message, durations in list(self.durations.items()):
            counts = list(durations.counts)
            if message not in self.at_once:
                requests.add_metric((node, message), sum(counts))
            buckets = [(str(bound), float(sum(counts[: place + 1]))) for place, bound in enumerate(BOUNDS)]
            seconds.add_metric((node, message), [*buckets, ("+Inf", float(sum(counts)))], durations.total)
        yield requests
        yield seconds
        errors = CounterMetricFamily("kwire_errors", "Error codes in answers.", labels=("node", "message", "code"))
        for (message, code), count in list(self.errors.items()):
            errors.add_metric((node, message, str(code)), count)
        yield errors
        closed = CounterMetricFamily("kwire_connections_closed", "Connections closed here.", labels=("node", "reason"))
        for reason, count in list(self.closed.items()):
            closed.add_metric((node, reason), count)
        yield closed
        faults = CounterMetricFamily("kwire_faults", "Requests that failed by a fault of the node's.", labels=("node",))
        faults.add_metric((node,), self.faults)
        yield faults
        connections = GaugeMetricFamily("kwire_connections", "Open connections.", labels=("node",))
        connections.add_metric((node,), self.connections)
        yield connections
        for name, (meaning, read) in self.gauges.items():
            gauge = GaugeMetricFamily(name, meaning, labels=("node",))
            gauge.add_metric((node,), read())
            yield gauge
