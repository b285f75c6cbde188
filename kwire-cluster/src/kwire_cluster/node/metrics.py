"""The metrics of a node, served in the text format of Prometheus.

Every request increments a plain integer; names, help, and labels are added when the metrics are read. Names follow the
conventions of Prometheus: a unit at the end, and `_total` on counters.
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

    from kwire_cluster.node.listener.connection_limits import CloseReason

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds in seconds, from a response from memory to a response that waits for a large batch."""


class Durations:
    """A histogram of the request durations of one API."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Metrics(Collector):
    """The metrics of one node."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.from_memory: Counter[str] = Counter()
        """Requests answered from memory, by message. Measuring the duration of each would cost too much."""
        self.durations: dict[str, Durations] = {}
        """Durations of all other requests, by message."""
        self.errors: Counter[tuple[str, int]] = Counter()
        """Error codes in responses, by message and code."""
        self.closed: Counter[CloseReason] = Counter()
        """Connections that the node closed, by reason."""
        self.connections = 0
        """Open connections."""
        self.faults = 0
        """Requests that failed with an unexpected exception."""
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "kwire_connections": ("Open connections.", lambda: float(self.connections))
        }
        """Help and current value of each gauge, by name."""

    def observe_duration(self, message: str, seconds: float) -> None:
        durations = self.durations.get(message)
        if durations is None:
            durations = self.durations[message] = Durations()
        durations.add(seconds)

    def serve(self, host: str, port: int) -> tuple[int, Callable[[], None]]:
        """Serve the metrics over HTTP from a thread.

        Returns:
            The port, and a function that stops serving.

        Raises:
            OSError: the address is in use.
        """
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
            "Time from the last byte of a request to the first byte of its response, unless answered from memory.",
            labels=("node", "message"),
        )
        # Copies: the thread of the metrics server reads while the event loop adds entries.
        for message, count in list(self.from_memory.items()):
            requests.add_metric((node, message), count)
        for message, durations in list(self.durations.items()):
            counts = list(durations.counts)
            # Responses from memory have no duration: they are counted, not timed.
            if message not in self.from_memory:
                requests.add_metric((node, message), sum(counts))
            buckets = [(str(bound), float(sum(counts[: index + 1]))) for index, bound in enumerate(BUCKETS)]
            seconds.add_metric((node, message), [*buckets, ("+Inf", float(sum(counts)))], durations.total)
        errors = CounterMetricFamily("kwire_errors", "Error codes in responses.", labels=("node", "message", "code"))
        for (message, code), count in list(self.errors.items()):
            errors.add_metric((node, message, str(code)), count)
        closed = CounterMetricFamily(
            "kwire_connections_closed", "Connections closed by the node.", labels=("node", "reason")
        )
        for reason, count in list(self.closed.items()):
            closed.add_metric((node, reason), count)
        faults = CounterMetricFamily(
            "kwire_faults", "Requests that failed with an unexpected exception.", labels=("node",)
        )
        faults.add_metric((node,), self.faults)
        yield from (requests, seconds, errors, closed, faults)
        for name, (documentation, read) in self.gauges.items():
            gauge = GaugeMetricFamily(name, documentation, labels=("node",))
            gauge.add_metric((node,), read())
            yield gauge
