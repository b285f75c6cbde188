"""`kwire pipeline`: turn polled metadata into tables, in this process or on Spark."""

from __future__ import annotations

import re
import sys
import time
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire._util.readable import counted
from kwire.client.polled_inputs import INPUTS, polled_requests
from kwire.terminal.colors import paint_for
from kwire.terminal.options import (
    color_option,
    command_config_option,
    gathered,
    output_option,
    polled_input_options,
    require,
)
from kwire.terminal.parameter_types import Duration, FiniteRange
from kwire_pipeline.cli.library_errors import library_errors
from kwire_pipeline.cli.pipeline_engine import EngineOptions, engine_options, spark_session
from kwire_pipeline.cli.pipeline_inputs import IngestInputs, ingest_recording, read_desired
from kwire_pipeline.cli.pipeline_streams import (
    SinkOptions,
    StreamOptions,
    ingest_cluster,
    print_result,
    stream_captures,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.terminal.colors import Choice
    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.store.commits import PipelineStore

_SECONDS = FiniteRange(min=0, min_open=True)


_LONGEST_HOURS = 36_525 * 24
"""A hundred years: Python has no times that are much earlier than the first year."""


class _Age(click.ParamType[timedelta]):
    """A number of days or hours."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        match = re.fullmatch("([0-9]{1,6})([dh])", value) if isinstance(value, str) else None
        hours = 0 if match is None else int(match[1]) * (24 if match[2] == "d" else 1)
        if not 0 < hours <= _LONGEST_HOURS:
            self.fail(
                f"expected a number of days or hours such as 90d or 12h, up to 100 years, got {value!r}", param, ctx
            )
        return timedelta(hours=hours)


_AGE = _Age()


def _seconds_option(*names: str, help: str, default: float | None = None) -> Callable[[Callable[..., int]], Any]:
    shows_default = default is not None
    return click.option(
        *names, type=_SECONDS, default=default, show_default=shows_default, metavar="SECONDS", help=help
    )


def _out_option(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--out` to a command, whose errors of libraries name that folder."""

    @wraps(command)
    def run(out: str, **options: Any) -> int:
        with library_errors(out, f"check the storage, and run `kwire pipeline check --out {out}`"):
            return command(out=out, **options)

    return click.option("--out", required=True, metavar="OUT", help="The folder or URI of the tables.")(run)


def _store_option(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--out` to a command, which gets the store in that folder as `store`."""

    @_out_option
    @wraps(command)
    def run(out: str, **options: Any) -> int:
        require("deltalake", "spark")
        from kwire.storage.location import UnsupportedLocation
        from kwire_pipeline.store.commits import PipelineStore
        from kwire_pipeline.store.errors import NotAStore

        try:
            store = PipelineStore(out, create=False)
        except (NotAStore, UnsupportedLocation) as error:
            raise click.BadParameter(str(error), param_hint="--out") from None
        return command(store=store, **options)

    return run


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
    """Turn polled metadata into tables with Spark, query and maintain them.

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
@_seconds_option("--every", default=10.0, help="Ingest a batch of a stream at this interval.")
@_seconds_option("-i", "--interval", default=1.0, help="Poll each broker at this interval.")
@click.option(
    "--desired",
    multiple=True,
    metavar="CLUSTER_ID=FILE",
    help="Compare the configs of a cluster with the document that `kafka configs export` printed; repeatable.",
)
@polled_input_options
@_seconds_option("--seconds", help="Stop streaming or polling after this time [default without --stream: 10].")
@click.option(
    "--missing-rows",
    type=click.Choice(["report", "fail"]),
    default="report",
    show_default=True,
    help="Report rows of a capture that no segment has, or stop there.",
)
@click.option("--gold", is_flag=True, help="Also bring gold up to date.")
@click.option(
    "--gold-every",
    type=Duration(),
    metavar="DURATION",
    help="Bring gold up to date at this interval during a stream, such as 1m.",
)
@click.option(
    "--sinks",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Send new and ended incidents to the sinks of a YAML file.",
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
@engine_options
@gathered(inputs=IngestInputs, stream=StreamOptions, sinks=SinkOptions)
def ingest(
    out: str,
    inputs: IngestInputs,
    stream: StreamOptions,
    sinks: SinkOptions,
    missing_rows: str,
    gold: bool,
    max_clock_skew: float,
    engine: EngineOptions,
    **intervals: float | None,
) -> int:
    """Ingest the frames of recordings, captures, or a cluster.

    They become changes (silver) and, with --gold, agreed states and incidents (gold). With --gold-every, new and ended
    incidents go to sinks. Under spark-submit, run the file of `kwire_pipeline.pipeline` with the same arguments.

    \b
    Examples:
      kwire pipeline ingest --capture /captures/prod --out /data/kafka --gold
      kwire pipeline ingest --bootstrap broker-1:9092 --out /data/kafka --stream
      kwire pipeline ingest --recording frames.parquet --out /data/kafka
      kwire pipeline ingest --capture prod --out /data/kafka --stream --gold-every 1m --notify http://host/
    """
    # Everything that can be wrong is checked before anything is read or Spark starts, which takes seconds.
    inputs.check(stream=stream.stream)
    if any(intervals.values()) and not inputs.bootstrap:
        raise click.UsageError(f"{', '.join(map(_option, INPUTS))} need --bootstrap")
    stream.check()
    sinks.check(stream)
    require("pyspark", "spark")
    subscriptions = sinks.subscriptions()
    desired_configs = read_desired(inputs.desired)
    inputs.check_places(out, inputs.config())
    from kwire_pipeline.gold.config_deviations import set_desired_configs
    from kwire_pipeline.pipeline import Pipeline
    from kwire_pipeline.source.missing_rows import MissingRowsPolicy
    from kwire_pipeline.store.maintenance import KEPT

    started = time.monotonic()
    with engine.spark(at_once=stream.stream) as spark:
        tables = Pipeline(
            spark,
            out,
            max_clock_skew=timedelta(seconds=max_clock_skew),
            keep_replaced=stream.keep or KEPT,
            missing_rows=MissingRowsPolicy(missing_rows),
            in_process_rows=engine.in_process_rows,
        )
        for cluster_id, configs in desired_configs.items():
            print_result("desired configs", f"{set_desired_configs(out, cluster_id, configs)} changed")
        live_gold = stream.start_gold(tables, subscriptions)
        if inputs.bootstrap:
            ingest_cluster(tables, inputs, polled_requests(intervals), stream, live_gold)
        elif stream.stream:
            stream_captures(tables, inputs.captures, stream, live_gold)
        elif inputs.captures:
            print_result("silver", tables.ingest_capture(*inputs.captures))
        for path in inputs.recordings:
            print_result(path, ingest_recording(tables, path))
        if gold:
            _build_gold(tables)
        print_result("done", f"{time.monotonic() - started:.1f} s in total")
    return 0


def _build_gold(tables: Pipeline) -> None:
    tables.gold()
    print_result("gold", "up to date")


@pipeline.command()
@_store_option
@_skew_option
@engine_options
def gold(store: PipelineStore, max_clock_skew: float, engine: EngineOptions) -> int:
    """Compute agreed states and incidents (gold) from the changes (silver)."""
    require("pyspark", "spark")
    from kwire_pipeline.pipeline import Pipeline

    with engine.spark() as spark:
        skew = timedelta(seconds=max_clock_skew)
        _build_gold(Pipeline(spark, store.out, max_clock_skew=skew, in_process_rows=engine.in_process_rows))
    return 0


@pipeline.command()
@_store_option
def optimize(store: PipelineStore) -> int:
    """Merge small files. A stream does this itself."""
    from kwire_pipeline.store import maintenance

    print_result("optimize", f"{counted(maintenance.optimize(store), 'file')} fewer")
    return 0


@pipeline.command()
@_store_option
@click.option("--keep", type=_AGE, default="7d", show_default=True, metavar="AGE", help="Keep files up to this age.")
def vacuum(store: PipelineStore, keep: timedelta) -> int:
    """Delete files that were merged, replaced, or removed. A stream does this itself.

    Files that a crashed driver has left behind are deleted once they are 7 days old.
    """
    from kwire_pipeline.store import maintenance

    print_result("vacuum", f"{counted(maintenance.vacuum(store, keep), 'file')} deleted")
    return 0


@pipeline.command()
@_store_option
@click.option("--keep", type=_AGE, required=True, metavar="AGE", help="Keep days that ended after this, such as 90d.")
def expire(store: PipelineStore, keep: timedelta) -> int:
    """Remove old days from the tables."""
    from kwire_pipeline.store import maintenance

    print_result("expire", f"{counted(maintenance.expire(store, keep), 'file')} removed")
    return 0


@pipeline.command()
@_store_option
def check(store: PipelineStore) -> int:
    """Check that the tables have all rows of the newest commit, and that nothing is missing or unreadable.

    For each table that is not whole, it says since which commit, and what `repair` would leave. The exit code is 6 if
    any fault is found.
    """
    from kwire_pipeline.store import check as store_check

    findings = store_check.check(store)
    for finding in findings:
        print(finding)
    for table in store_check.check_tables(store) if findings else ():
        print(table)
    print_result("check", f"{len(findings):,} faults" if findings else "the store is whole")
    return 6 if findings else 0


@pipeline.command()
@_store_option
@click.option("--execute", is_flag=True, help="Take the steps. Without it they are printed only.")
def repair(store: PipelineStore, execute: bool) -> int:
    """Repair tables in which `check` has found faults.

    Tables return to the rows of the newest commit that can be read, whatever other programs have changed since, and
    references to missing files are dropped. Stop all ingests before.
    """
    from kwire_pipeline.store import repair as store_repair

    steps = store_repair.repair(store, execute=execute)
    for step in steps:
        print(step)
    done = "the store is whole" if execute or not steps else "nothing was changed: run it with --execute"
    print_result("repair", done)
    return 0


@pipeline.command()
@_store_option
def status(store: PipelineStore) -> int:
    """Show the receivers of incidents (sinks): open alerts, and notices that they refused."""
    from kwire_pipeline.sinks.ledger import Ledger, sinks_with_ledgers

    sinks = sinks_with_ledgers(store.out)
    if not sinks:
        print_result("sinks", "none has received incidents of this folder")
    for sink in sinks:
        ledger = Ledger(store.out, sink, None)
        counts = dict(sorted(ledger.alert_counts.items()))
        counts["dead letters"] = ledger.dead_letter_count
        print_result(sink, ", ".join(f"{count:,} {state}" for state, count in counts.items()))
        for letter in ledger.dead_letters:
            incident = f"{letter.notice['status']} {letter.notice['kind']} {letter.alert_id}"
            attempts = f"after {counted(letter.attempts, 'attempt')}"
            print_result("  dead letter", f"{letter.at} {incident}: {letter.reason!r} {attempts}")
    return 0


@pipeline.command()
@_store_option
@output_option(["table", "csv", "json"], "The form of the result.")
@click.argument("query", required=False)
@color_option
def sql(store: PipelineStore, output: str, query: str | None, color: Choice) -> int:
    """Query the tables with DuckDB, without Spark.

    Without a query, the tables and the views that answer frequent questions are listed.

    \b
    Examples:
      kwire pipeline sql --out /data/kafka
      kwire pipeline sql --out /data/kafka 'SELECT * FROM current_clusters'
      kwire pipeline sql --out /data/kafka --output csv 'SELECT kind, count(*) FROM incidents GROUP BY kind'
    """
    require("pyspark", "spark")  # not started: the tables are declared beside the code that computes them
    require("duckdb", "spark")
    snapshot = store.snapshot()
    from kwire.terminal.tables import TableColumn, print_table
    from kwire_pipeline.cli.query_output import print_query
    from kwire_pipeline.sql_views import VIEWS, tables

    if query is not None:
        print_query(snapshot, query, output, paint_for(sys.stdout, color))
    else:
        named = [(view.name, view.doc) for view in VIEWS] + [(table.name, table.doc) for table in tables().values()]
        columns = [TableColumn("name"), TableColumn("meaning", folds=True)]
        print_table(columns, named, paint_for(sys.stdout, color))
    return 0


@pipeline.command()
@_store_option
@click.option("--schema", default="kafka", show_default=True, metavar="SCHEMA", help="The schema in the catalog.")
@click.option("--execute", is_flag=True, help="Run the statements in Spark. Without it they are printed only.")
def register(store: PipelineStore, schema: str, execute: bool) -> int:
    """Register tables and views in a catalog, such as a Hive metastore or Unity Catalog.

    The statements need a Spark with Delta, whose session has the catalog. Build gold once before.
    """
    if not re.fullmatch(r"\w+(\.\w+)?", schema):
        raise click.BadParameter(f"expected a name such as kafka or main.kafka, got {schema!r}", param_hint="--schema")
    require("pyspark", "spark")
    from kwire_pipeline.sql_views import registration

    statements = registration(store.out, schema)
    if not execute:
        print(";\n".join(statements), end=";\n")
        return 0
    with spark_session() as spark:
        for statement in statements:
            spark.sql(statement)
    print_result("register", f"{counted(len(statements), 'statement')} in {schema}")
    return 0


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
