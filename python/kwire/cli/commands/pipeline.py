"""`kwire pipeline`: turn polled metadata into tables, on Spark."""

from __future__ import annotations

import re
import signal
import time
import warnings
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire.cli.options import command_config_option, load_command_config, require
from kwire.cli.parameter_types import Duration, FiniteRange
from kwire.cli.polled_input_options import polled_input_options
from kwire.client.polled_inputs import INPUTS, polled_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    from kwire.client import ConnectionConfig, PolledRequest
    from kwire.spark.ingest.ingest_report import IngestReport
    from kwire.spark.live.live_gold import LiveGold
    from kwire.spark.pipeline import Pipeline
    from kwire.spark.sinks.job_metrics import JobMetrics
    from kwire.spark.source.live_source import BackgroundPolling
    from kwire.spark.store.commits import Store

    DesiredConfigs: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]

_SECONDS = FiniteRange(min=0, min_open=True)
_POLL_SECONDS = 10.0
"""Seconds for which a cluster is polled without `--stream` and `--seconds`."""


class _Age(click.ParamType[timedelta]):
    """A number of days or hours."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        match = re.fullmatch(r"(\d+)([dh])", value) if isinstance(value, str) else None
        if match is None or int(match[1]) == 0:
            self.fail(f"expected a number of days or hours such as 90d or 12h, got {value!r}", param, ctx)
        return timedelta(days=int(match[1])) if match[2] == "d" else timedelta(hours=int(match[1]))


_AGE = _Age()


class _Streaming(NamedTuple):
    every: float
    seconds: float | None
    gold: LiveGold | None
    metrics: JobMetrics | None


class _Sinks(NamedTuple):
    """The sinks of incidents: URLs, `module:function`, topics of `kafka`, and the address of the metrics."""

    webhooks: tuple[str, ...]
    callables: tuple[str, ...]
    topic: str | None
    kafka: str | None
    metrics: str | None


_out_option = click.option("--out", required=True, metavar="OUT", help="The folder or URI of the tables.")
_skew_option = click.option(
    "--max-clock-skew",
    type=Duration(),
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="Correct clocks of pollers that differ by up to this.",
)


@click.group()
def pipeline() -> None:
    """Turn polled metadata into tables, on Spark, and maintain them.

    \b
    Examples:
      kwire pipeline ingest --capture /captures/prod --out /data/kafka --gold
      kwire pipeline ingest --bootstrap broker-1:9092 --out /data/kafka --stream
      kwire pipeline gold --out /data/kafka
      kwire pipeline expire --out /data/kafka --keep 90d
      kwire pipeline check --out /data/kafka
    """


@pipeline.command()
@_out_option
@click.option(
    "--recording", "recordings", multiple=True, metavar="FILE", help="Ingest a Parquet file of frames; repeatable."
)
@click.option("--capture", "captures", multiple=True, metavar="DIR", help="Ingest a capture; repeatable.")
@click.option("-b", "--bootstrap", metavar="HOST:PORT,...", help="Poll this cluster into OUT/capture and ingest it.")
@command_config_option
@click.option("--stream", is_flag=True, help="Ingest until interrupted.")
@click.option(
    "--every",
    type=_SECONDS,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Ingest a batch of a stream at this interval.",
)
@click.option(
    "-i",
    "--interval",
    type=_SECONDS,
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Poll each broker at this interval.",
)
@click.option(
    "--desired",
    multiple=True,
    metavar="CLUSTER_ID=FILE",
    help="Compare the configs of a cluster with what `kafka configs export --output json` printed; repeatable.",
)
@polled_input_options
@click.option("--seconds", type=_SECONDS, metavar="SECONDS", help="Stop streaming or polling after this time.")
@click.option("--gold", is_flag=True, help="Also bring gold up to date.")
@click.option(
    "--gold-every",
    type=Duration(),
    metavar="DURATION",
    help="Bring gold up to date at this interval during a stream, such as 1m.",
)
@click.option(
    "--notify",
    "webhooks",
    multiple=True,
    metavar="URL",
    help="Post new and ended incidents to a webhook in Alertmanager's form; repeatable.",
)
@click.option(
    "--notify-call", "callables", multiple=True, metavar="MODULE:FUNCTION", help="Call a function with incidents."
)
@click.option("--notify-topic", "topic", metavar="TOPIC", help="Produce incidents to this topic of --notify-bootstrap.")
@click.option("--notify-bootstrap", "kafka", metavar="HOST:PORT,...", help="The cluster of --notify-topic.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics of the job at this address.")
@_skew_option
@click.option(
    "--keep", type=_AGE, metavar="AGE", help="Delete files that a stream has replaced after this age. [default: 7d]"
)
def ingest(
    out: str,
    recordings: tuple[str, ...],
    captures: tuple[str, ...],
    bootstrap: str | None,
    command_config: Path | None,
    stream: bool,
    every: float,
    interval: float,
    seconds: float | None,
    gold: bool,
    gold_every: float | None,
    webhooks: tuple[str, ...],
    callables: tuple[str, ...],
    topic: str | None,
    kafka: str | None,
    metrics: str | None,
    max_clock_skew: float,
    keep: timedelta | None,
    desired: tuple[str, ...],
    **intervals: float | None,
) -> int:
    """Ingest the frames of recordings, captures, or a cluster.

    They become changes (silver) and, with --gold, agreed states and incidents (gold). With --gold-every, new and ended
    incidents go to sinks. Under spark-submit, run the file of `kwire.spark.pipeline` with the same arguments.

    \b
    Examples:
      kwire pipeline ingest --capture /captures/prod --out /data/kafka --gold
      kwire pipeline ingest --bootstrap broker-1:9092 --out /data/kafka --stream
      kwire pipeline ingest --recording frames.parquet --out /data/kafka
      kwire pipeline ingest --capture prod --out /data/kafka --stream --gold-every 1m --notify http://host/
    """
    if keep is not None and not stream:
        raise click.UsageError("--keep needs --stream")
    if sum(map(bool, (recordings, captures, bootstrap))) != 1:
        raise click.UsageError("expected one of --recording, --capture, and --bootstrap")
    if recordings and stream:
        raise click.UsageError("--stream needs --capture or --bootstrap: a recording does not grow")
    if command_config and not bootstrap:
        raise click.UsageError("--command-config needs --bootstrap")
    if any(intervals.values()) and not bootstrap:
        raise click.UsageError(f"{', '.join(map(_option, INPUTS))} need --bootstrap")
    sinks = _Sinks(webhooks, callables, topic, kafka, metrics)
    if any(sinks) and gold_every is None:
        raise click.UsageError("--notify, --notify-call, --notify-topic, and --metrics need --gold-every")
    if gold_every is not None and not stream:
        raise click.UsageError("--gold-every needs --stream; use --gold to build once")
    if bool(topic) != bool(kafka):
        raise click.UsageError("--notify-topic and --notify-bootstrap need each other")
    require("pyspark", "spark")
    if metrics:
        require("prometheus_client", "node")
    if topic:
        require("confluent_kafka", "kafka")
    wanted = _read_desired(desired)
    config = None if command_config is None else load_command_config(command_config).connection
    _check(out, recordings, captures, bootstrap)
    from kwire.spark.gold.config_deviations import set_desired_configs
    from kwire.spark.pipeline import Pipeline
    from kwire.spark.store.maintenance import KEPT

    started = time.monotonic()
    with _spark_session() as spark:
        skew = timedelta(seconds=max_clock_skew)
        tables = Pipeline(spark, out, max_clock_skew=skew, keep_replaced=keep or KEPT)
        for cluster_id, configs in wanted.items():
            _print("desired configs", f"{set_desired_configs(out, cluster_id, configs)} changed")
        streaming = _Streaming(every, seconds, *_live_gold(tables, gold_every, sinks)) if stream else None
        if bootstrap:
            _ingest_cluster(tables, bootstrap, config, interval, polled_requests(intervals), seconds, streaming)
        elif streaming:
            _stream(tables, captures, streaming)
        elif captures:
            _print("silver", tables.ingest_capture(*captures))
        for path in recordings:
            _print(path, tables.ingest(_read_recording(spark, path)))
        if gold:
            tables.gold()
            _print("gold", "up to date")
        _print("done", f"{time.monotonic() - started:.1f} s in total")
    return 0


@pipeline.command()
@_out_option
@_skew_option
def gold(out: str, max_clock_skew: float) -> int:
    """Bring gold up to date with silver."""
    require("pyspark", "spark")
    store = _open_store(out)
    from kwire.spark.pipeline import Pipeline

    with _spark_session() as spark:
        Pipeline(spark, store.out, max_clock_skew=timedelta(seconds=max_clock_skew)).gold()
    _print("gold", "up to date")
    return 0


@pipeline.command()
@_out_option
def optimize(out: str) -> int:
    """Merge small files. Streams do so too."""
    store = _open_store(out)
    from kwire.spark.store import maintenance

    _print("optimize", f"{maintenance.optimize(store):,} files fewer")
    return 0


@pipeline.command()
@_out_option
@click.option("--keep", type=_AGE, default="7d", show_default=True, metavar="AGE", help="Keep files up to this age.")
def vacuum(out: str, keep: timedelta) -> int:
    """Delete files that were merged, replaced, or removed. Streams do so too.

    Files that crashed drivers left are deleted at an age of 7 days or more.
    """
    store = _open_store(out)
    from kwire.spark.store import maintenance

    _print("vacuum", f"{maintenance.vacuum(store, keep):,} files deleted")
    return 0


@pipeline.command()
@_out_option
@click.option("--keep", type=_AGE, required=True, metavar="AGE", help="Keep days that ended after this, such as 90d.")
def expire(out: str, keep: timedelta) -> int:
    """Remove old days from the tables."""
    store = _open_store(out)
    from kwire.spark.store import maintenance

    _print("expire", f"{maintenance.expire(store, keep):,} files removed")
    return 0


@pipeline.command()
@_out_option
def check(out: str) -> int:
    """Check that the store is whole: what readers and the next ingest need exists and can be read.

    The exit code is 6 if it is not.
    """
    store = _open_store(out)
    from kwire.spark.store import check as store_check

    findings = store_check.check(store)
    for finding in findings:
        print(finding)
    _print("check", f"{len(findings):,} faults" if findings else "the store is whole")
    return 6 if findings else 0


@pipeline.command()
@_out_option
@click.option("--execute", is_flag=True, help="Take the steps. Without it they are printed only.")
def repair(out: str, execute: bool) -> int:
    """Make a store whole that `check` finds faults in.

    Tables return to the newest commit that can be read, and references to missing files are dropped. Stop all ingests
    before.
    """
    store = _open_store(out)
    from kwire.spark.store import check as store_check

    steps = store_check.repair(store, execute=execute)
    for step in steps:
        print(step)
    done = "the store is whole" if execute or not steps else "nothing was changed: run it with --execute"
    _print("repair", done)
    return 0


@pipeline.command()
@_out_option
def status(out: str) -> int:
    """Show what sinks of incidents have received and refused."""
    _open_store(out)
    _print_sinks(out)
    return 0


@contextmanager
def _spark_session() -> Iterator[SparkSession]:
    from kwire.spark.session import get_session

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # pandas is not used
    spark = get_session()
    try:
        yield spark
    finally:
        spark.stop()


def _open_store(out: str) -> Store:
    """Open a store that exists."""
    require("deltalake", "spark")
    from kwire.spark.store.commits import Store
    from kwire.spark.store.errors import NotAStore
    from kwire.storage.location import UnsupportedLocation

    try:
        return Store(out, create=False)
    except (NotAStore, UnsupportedLocation) as error:
        raise click.BadParameter(str(error), param_hint="--out") from None


def _read_desired(texts: Sequence[str]) -> dict[str, DesiredConfigs]:
    """Return the desired configs of clusters, of texts like `CLUSTER_ID=FILE`."""
    from kwire.client.admin import ConfigResource, ConfigResourceType
    from kwire.verbs.changes import InvalidArgument
    from kwire.verbs.configs.apply import read_configs

    def resource_of(resource: ConfigResource) -> tuple[str, str]:
        is_default = resource.type is ConfigResourceType.BROKER and not resource.name
        return ("cluster", "") if is_default else (resource.type.singular, resource.name)

    found: dict[str, DesiredConfigs] = {}
    for text in texts:
        cluster_id, separator, file = text.rpartition("=")
        if not separator:
            raise click.BadParameter(f"expected CLUSTER_ID=FILE, got {text!r}", param_hint="--desired")
        try:
            configs = read_configs(Path(file))
        except InvalidArgument as error:
            raise click.BadParameter(str(error), param_hint="--desired") from None
        found[cluster_id] = {resource_of(resource): values for resource, values in configs.items()}
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _print_sinks(out: str) -> None:
    """Print the state of each sink of incidents, and its dead letters."""
    from kwire.spark.sinks.ledger import Ledger, sinks_with_ledgers

    for sink in sinks_with_ledgers(out):
        ledger = Ledger(out, sink, None)
        counts = {state.value: count for state, count in sorted(ledger.alert_counts.items())}
        counts |= {"not accepted yet": ledger.failed, "dead letters": ledger.dead_letter_count}
        _print(sink, ", ".join(f"{count:,} {state}" for state, count in counts.items()))
        for letter in ledger.dead_letters:
            incident = f"{letter.notice['status']} {letter.notice['kind']} {letter.alert_id}"
            _print("  dead letter", f"{letter.at} {incident}: {letter.reason!r} after {letter.attempts:,} attempts")


def _ingest_cluster(
    tables: Pipeline,
    bootstrap: str,
    config: ConnectionConfig | None,
    interval: float,
    requests: Sequence[PolledRequest],
    seconds: float | None,
    streaming: _Streaming | None,
) -> None:
    """Poll a cluster and ingest its responses.

    Raises:
        NoBrokerResponded: every poll failed.
    """
    from kwire.spark.source.live_source import capturing
    from kwire.storage.location import Location

    folder = f"{Location.parse(tables.out).native}/capture"
    with capturing(bootstrap, folder, interval, config, requests) as polling:
        if polling.folder != folder:
            _print("capture", f"{polling.folder}, uploaded to {folder}")
        if streaming:
            if not polling.wait_until_readable(streaming.seconds):
                polling.stop()
            _stream(tables, [folder], streaming, polling)
        else:
            polling.wait(seconds or _POLL_SECONDS)
    if not streaming:
        _print("silver", tables.ingest_capture(folder))
        polling.check_responded()


def _stream(
    tables: Pipeline, folders: Sequence[str], streaming: _Streaming, polling: BackgroundPolling | None = None
) -> None:
    """Ingest captures until interrupted or for some seconds, and then everything that is captured by then."""
    from kwire.spark.live.capture_streams import CaptureStreams

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
            _print("stream", "interrupted")
        if polling is not None:
            polling.stop()
        streams.finish()
        if streaming.gold is not None:
            streaming.gold.build()
    finally:
        if streaming.gold is not None:
            streaming.gold.close()


def _live_gold(
    tables: Pipeline, every: float | None, sinks: _Sinks
) -> tuple[LiveGold, JobMetrics | None] | tuple[None, None]:
    """Return what builds gold during a stream and publishes incidents, and the metrics of the job, if wanted."""
    if every is None:
        return None, None
    from kwire.spark.live.live_gold import LiveGold
    from kwire.spark.sinks import IncidentPublisher, IncidentSink
    from kwire.spark.sinks.sink import load_callable
    from kwire.spark.sinks.webhook import WebhookSink

    found: list[IncidentSink] = []
    try:
        found += [WebhookSink(url) for url in sinks.webhooks]
        found += [load_callable(text) for text in sinks.callables]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if sinks.topic and sinks.kafka:
        from kwire.spark.sinks.kafka_topic import KafkaTopicSink

        found.append(KafkaTopicSink(sinks.kafka, sinks.topic))
    metrics = _serve_metrics(sinks.metrics) if sinks.metrics else None
    return LiveGold(tables, every, IncidentPublisher(tables, found, metrics), metrics), metrics


def _serve_metrics(address: str) -> JobMetrics:
    from kwire.protocol import Endpoint
    from kwire.spark.sinks.job_metrics import JobMetrics

    endpoint = Endpoint.parse(address)
    metrics = JobMetrics()
    port, _ = metrics.serve(endpoint.host, endpoint.port)
    _print("metrics", f"http://{endpoint.host}:{port}/metrics")
    return metrics


def _print_new(report: IngestReport) -> None:
    if report.rows:
        _print("silver", report)


def _print(what: str, result: object) -> None:
    print(f"{what}: {result}", flush=True)


def _read_recording(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        raise click.BadParameter(str(error).splitlines()[0], param_hint="--recording") from None


# Checks that need no Spark session


def _check(out: str, recordings: Sequence[str], captures: Sequence[str], bootstrap: str | None) -> None:
    """Check files, folders, and addresses on this machine before Spark starts.

    Raises:
        BadParameter: the value of an option is invalid.
    """
    from kwire.capture import segments
    from kwire.errors import KwireError
    from kwire.protocol import Endpoint
    from kwire.spark.store.commits import Store

    option = "--recording"
    try:
        for path in recordings:
            _check_recording(path)
        option = "--capture"
        for folder in captures:
            segments(folder)
        option = "--bootstrap"
        if bootstrap:
            Endpoint.parse_all(bootstrap)
        option = "--out"
        Store(out)  # last, since it creates the folder
    except (KwireError, OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint=option) from None


def _check_recording(path: str) -> None:
    """Check a local file. Spark resolves patterns and other file systems, also behind a plain path in spark-submit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kwire.spark.session import started_by_spark_submit
    from kwire.storage.location import Location

    if path.startswith("file:"):
        path = Location.parse(path, any_name=True).native
    if "://" in path or any(sign in path for sign in "*?[{") or started_by_spark_submit():
        return
    if not Path(path).exists():
        raise ValueError(f"{path} does not exist")
    if Path(path).is_file():
        try:
            pq.read_schema(path)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}".splitlines()[0]) from error
