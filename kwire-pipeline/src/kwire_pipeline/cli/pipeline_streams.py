"""Streams of `kwire pipeline ingest`: polling, micro-batches, builds of gold, and sinks until the job ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import click

from kwire.terminal.options import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from pathlib import Path

    from kwire.client import PolledRequest
    from kwire_pipeline.cli.pipeline_inputs import IngestInputs
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


class StreamOptions(NamedTuple):
    """The options of a stream.

    Attributes:
        stream: true to ingest until interrupted.
        every: seconds between two batches.
        seconds: seconds after which polling or the stream ends; None for no end.
        gold_every: seconds between two builds of gold; None builds none.
        metrics: the address of the metrics of the job.
        keep: the age after which replaced files are deleted; None for the default.
    """

    stream: bool
    every: float
    seconds: float | None
    gold_every: float | None
    metrics: str | None
    keep: timedelta | None

    def check(self) -> None:
        """Check options that need each other.

        Raises:
            click.UsageError: an option needs another one.
        """
        if self.keep is not None and not self.stream:
            raise click.UsageError("--keep needs --stream")
        if self.gold_every is not None and not self.stream:
            raise click.UsageError("--gold-every needs --stream; use --gold to build once")
        if self.metrics and self.gold_every is None:
            raise click.UsageError("--metrics needs --gold-every")
        if self.metrics:
            require("prometheus_client", "spark")

    def start_gold(self, tables: Pipeline, subscriptions: Sequence[Subscription]) -> LiveGold | None:
        """Return what builds gold during a stream and publishes incidents, with the metrics of the job, if wanted."""
        if self.gold_every is None:
            return None
        from kwire_pipeline.live.live_gold import LiveGold
        from kwire_pipeline.sinks import IncidentPublisher

        metrics = _serve_metrics(self.metrics) if self.metrics else None
        return LiveGold(tables, self.gold_every, IncidentPublisher(tables, subscriptions, metrics), metrics)


class SinkOptions(NamedTuple):
    """The sinks of incidents: a file, or its shorthand: URLs, `module:function`, and a topic of `kafka`."""

    file: Path | None
    webhooks: tuple[str, ...]
    callables: tuple[str, ...]
    topic: str | None
    kafka: str | None

    def check(self, stream: StreamOptions) -> None:
        """Check options that need each other.

        Raises:
            click.UsageError: an option needs another one.
        """
        if any(self) and stream.gold_every is None:
            raise click.UsageError("--sinks, --notify, --notify-call, and --notify-topic need --gold-every")
        if bool(self.topic) != bool(self.kafka):
            raise click.UsageError("--notify-topic and --notify-bootstrap need each other")

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
            require("confluent_kafka", "kafka")
            from kwire_pipeline.sinks.kafka_topic import KafkaTopicSink

            subscriptions.append(Subscription(KafkaTopicSink(self.kafka, self.topic)))
        names = [subscription.sink.name for subscription in subscriptions]
        if len(names) != len(set(names)):
            raise click.UsageError("--sinks and the options of --notify name a receiver twice")
        return subscriptions


def ingest_cluster(
    tables: Pipeline,
    source: IngestInputs,
    requests: Sequence[PolledRequest],
    options: StreamOptions,
    gold: LiveGold | None,
) -> None:
    """Poll a cluster and ingest its responses.

    Raises:
        NoBrokerResponded: every poll failed.
    """
    from kwire.storage.location import Location
    from kwire_pipeline.source.live_source import BackgroundPolling

    folder = f"{Location.parse(tables.out).native}/capture"
    assert source.bootstrap is not None
    with BackgroundPolling(source.bootstrap, folder, source.interval, source.config(), requests) as polling:
        if polling.folder != folder:
            print_result("capture", f"{polling.folder}, uploaded to {folder}")
        if options.stream:
            if not polling.wait_until_readable(options.seconds):
                polling.stop()
            stream_captures(tables, [folder], options, gold, polling)
        else:
            seconds = options.seconds or POLL_SECONDS
            print_result("polling", f"{source.bootstrap}, for {seconds:g} s")
            polling.wait(seconds)
    if not options.stream:
        print_result("silver", tables.ingest_capture(folder))
        polling.check_responded()


def stream_captures(
    tables: Pipeline,
    folders: Sequence[str],
    options: StreamOptions,
    gold: LiveGold | None,
    polling: BackgroundPolling | None = None,
) -> None:
    """Ingest captures until interrupted or for some seconds, and then everything that is captured by then."""
    from kwire_pipeline.live.capture_streams import CaptureStreams

    # Spark's handler cancels all jobs, so the batch in progress would fail instead of being finished.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def report(added: IngestReport) -> None:
        if gold is not None:
            gold.add_report(added)
        if added.rows or added.missing or added.refused:
            print_result("silver", added)

    def check() -> None:
        if polling is not None:
            polling.check()
        if gold is not None:
            gold.build_if_due()

    try:
        streams = CaptureStreams(tables, folders, options.every, report)
        try:
            streams.wait(options.seconds, check)
        except KeyboardInterrupt:
            print_result("stream", "interrupted")
        if polling is not None:
            polling.stop()
        streams.finish()
        if gold is not None:
            gold.build()
    finally:
        if gold is not None:
            gold.close()


def _serve_metrics(address: str) -> JobMetrics:
    from kwire.protocol import Endpoint
    from kwire_pipeline.sinks.job_metrics import JobMetrics

    endpoint = Endpoint.parse(address)
    metrics = JobMetrics()
    port, _ = metrics.serve(endpoint.host, endpoint.port)
    print_result("metrics", f"http://{endpoint.host}:{port}/metrics")
    return metrics
