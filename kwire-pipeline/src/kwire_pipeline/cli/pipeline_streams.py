"""Streams of `kwire pipeline ingest`: polling, micro-batches, builds of gold, and sinks until the job ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kwire.client import ConnectionConfig, PolledRequest
    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.live.live_gold import LiveGold
    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.sinks import Subscription
    from kwire_pipeline.sinks.job_metrics import JobMetrics
    from kwire_pipeline.source.live_source import BackgroundPolling

POLL_SECONDS = 10.0
"""Seconds for which a cluster is polled without `--stream` and `--seconds`."""


def print_result(what: str, result: object) -> None:
    """Print a line of progress."""
    print(f"{what}: {result}", flush=True)


class Streaming(NamedTuple):
    every: float
    seconds: float | None
    gold: LiveGold | None
    metrics: JobMetrics | None


class SinkOptions(NamedTuple):
    """The sinks of incidents: a file, or its shorthand: URLs, `module:function`, and a topic of `kafka`."""

    file: Path | None
    webhooks: tuple[str, ...]
    callables: tuple[str, ...]
    topic: str | None
    kafka: str | None

    def subscriptions(self) -> list[Subscription]:
        """Return the sinks with their filters.

        Raises:
            click.UsageError: an option or the file has a mistake.
        """
        from kwire_pipeline.sinks.sink import load_callable
        from kwire_pipeline.sinks.sinks_file import read_sinks
        from kwire_pipeline.sinks.subscription import Subscription
        from kwire_pipeline.sinks.webhook import WebhookSink

        try:
            subscriptions = read_sinks(self.file) if self.file else []
            subscriptions += [Subscription(WebhookSink(url)) for url in self.webhooks]
            subscriptions += [Subscription(load_callable(text)) for text in self.callables]
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        if any("@" in urlsplit(url).netloc for url in self.webhooks):
            raise click.UsageError("--notify: arguments of processes are public: put URLs with passwords into --sinks")
        if self.topic and self.kafka:
            from kwire_pipeline.sinks.kafka_topic import KafkaTopicSink

            subscriptions.append(Subscription(KafkaTopicSink(self.kafka, self.topic)))
        names = [subscription.sink.name for subscription in subscriptions]
        if len(names) != len(set(names)):
            raise click.UsageError("--sinks and the options of --notify name a receiver twice")
        return subscriptions


def ingest_cluster(
    tables: Pipeline,
    bootstrap: str,
    config: ConnectionConfig | None,
    interval: float,
    requests: Sequence[PolledRequest],
    seconds: float | None,
    streaming: Streaming | None,
) -> None:
    """Poll a cluster and ingest its responses.

    Raises:
        NoBrokerResponded: every poll failed.
    """
    from kwire.storage.location import Location
    from kwire_pipeline.source.live_source import capturing

    folder = f"{Location.parse(tables.out).native}/capture"
    with capturing(bootstrap, folder, interval, config, requests) as polling:
        if polling.folder != folder:
            print_result("capture", f"{polling.folder}, uploaded to {folder}")
        if streaming:
            if not polling.wait_until_readable(streaming.seconds):
                polling.stop()
            stream_captures(tables, [folder], streaming, polling)
        else:
            polling.wait(seconds or POLL_SECONDS)
    if not streaming:
        print_result("silver", tables.ingest_capture(folder))
        polling.check_responded()


def stream_captures(
    tables: Pipeline, folders: Sequence[str], streaming: Streaming, polling: BackgroundPolling | None = None
) -> None:
    """Ingest captures until interrupted or for some seconds, and then everything that is captured by then."""
    from kwire_pipeline.live.capture_streams import CaptureStreams

    # Spark's handler cancels all jobs, so the batch in progress would fail instead of being finished.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def report(added: IngestReport) -> None:
        if streaming.metrics is not None:
            streaming.metrics.add_report(added)
        if streaming.gold is not None:
            streaming.gold.add_report(added)
        _print_new(added)

    def check() -> None:
        if polling is not None:
            polling.check()
        if streaming.gold is not None:
            streaming.gold.build_if_due()

    try:
        streams = CaptureStreams(tables, folders, streaming.every, report)
        try:
            streams.wait(streaming.seconds, check)
        except KeyboardInterrupt:
            print_result("stream", "interrupted")
        if polling is not None:
            polling.stop()
        streams.finish()
        if streaming.gold is not None:
            streaming.gold.build()
    finally:
        if streaming.gold is not None:
            streaming.gold.close()


def start_live_gold(
    tables: Pipeline, every: float | None, subscriptions: Sequence[Subscription], metrics_address: str | None
) -> tuple[LiveGold, JobMetrics | None] | tuple[None, None]:
    """Return what builds gold during a stream and publishes incidents, and the metrics of the job, if wanted."""
    if every is None:
        return None, None
    from kwire_pipeline.live.live_gold import LiveGold
    from kwire_pipeline.sinks import IncidentPublisher

    metrics = _serve_metrics(metrics_address) if metrics_address else None
    return LiveGold(tables, every, IncidentPublisher(tables, subscriptions, metrics), metrics), metrics


def _serve_metrics(address: str) -> JobMetrics:
    from kwire.protocol import Endpoint
    from kwire_pipeline.sinks.job_metrics import JobMetrics

    endpoint = Endpoint.parse(address)
    metrics = JobMetrics()
    port, _ = metrics.serve(endpoint.host, endpoint.port)
    print_result("metrics", f"http://{endpoint.host}:{port}/metrics")
    return metrics


def _print_new(report: IngestReport) -> None:
    if report.rows or report.missing or report.refused:
        print_result("silver", report)
