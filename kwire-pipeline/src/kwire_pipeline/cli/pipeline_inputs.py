"""Inputs of `kwire pipeline ingest`: desired configs, recordings, and checks that need no Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kwire._util.products import part
from kwire.terminal.environment import variables_for
from kwire.terminal.options import load_command_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    from kwire.client import ConnectionConfig
    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.pipeline import Pipeline

    DesiredConfigs: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]


class IngestInputs(NamedTuple):
    """The options that name what is ingested: one of recordings, captures, and a cluster.

    Attributes:
        recordings: Parquet files of frames.
        captures: folders of captures.
        bootstrap: the cluster to poll.
        command_config: the client.properties for the cluster.
        interval: seconds between two polls of a broker.
        desired: the desired configs of clusters, as `CLUSTER_ID=FILE`.
    """

    recordings: tuple[str, ...]
    captures: tuple[str, ...]
    bootstrap: str | None
    command_config: Path | None
    interval: float
    desired: tuple[str, ...]

    def check(self, *, stream: bool) -> None:
        """Check options that need or exclude each other.

        Raises:
            click.UsageError: an option needs or excludes another one.
        """
        if sum(map(bool, (self.recordings, self.captures, self.bootstrap))) != 1:
            raise click.UsageError("expected one of --recording, --capture, and --bootstrap")
        if self.recordings and stream:
            raise click.UsageError("--stream needs --capture or --bootstrap: a recording does not grow")
        if self.command_config and not self.bootstrap:
            raise click.UsageError("--command-config needs --bootstrap")

    def config(self) -> ConnectionConfig | None:
        """Return TLS and SASL of the cluster, of the option or else of the environment; None for plaintext."""
        file = self.command_config
        if file is None and self.bootstrap and (text := variables_for({"bootstrap": self.bootstrap})):
            file = Path(text["command_config"])
        return None if file is None else load_command_config(file).connection

    def check_places(self, out: str, config: ConnectionConfig | None) -> None:
        """Check files, folders, and addresses on this machine before Spark starts.

        Args:
            out: the folder of the tables.
            config: TLS and SASL of the cluster.

        Raises:
            BadParameter: the value of an option is invalid.
        """
        from kwire.capture import segments
        from kwire.client import ConnectionConfig
        from kwire.errors import KwireError
        from kwire.protocol import Endpoint
        from kwire_pipeline.store.commits import PipelineStore

        option = "--recording"
        try:
            for path in self.recordings:
                _check_recording(path)
            option = "--capture"
            for folder in self.captures:
                segments(folder)
            option = "--bootstrap"
            if self.bootstrap:
                Endpoint.parse_all(self.bootstrap, ConnectionConfig.check(config).security_protocol)
            option = "--out"
            PipelineStore(out)  # last, since it creates the folder
        except (KwireError, OSError, ValueError) as error:
            raise click.BadParameter(str(error), param_hint=option) from None


def read_desired(texts: Sequence[str]) -> dict[str, DesiredConfigs]:
    """Return the desired configs of clusters, of texts like `CLUSTER_ID=FILE`."""
    read: Callable[[Path], DesiredConfigs] = part("desired-configs", "--desired")
    by_cluster: dict[str, DesiredConfigs] = {}
    for text in texts:
        cluster_id, separator, file = text.rpartition("=")
        if not separator:
            raise click.BadParameter(f"expected CLUSTER_ID=FILE, got {text!r}", param_hint="--desired")
        try:
            by_cluster[cluster_id] = read(Path(file))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--desired") from None
    return by_cluster


def ingest_recording(tables: Pipeline, path: str) -> IngestReport:
    """Ingest a recording; its files may have different columns, but not of different types.

    Raises:
        BadParameter: Spark cannot read it, or a column cannot be one of bronze.
    """
    from pyspark.errors import PySparkException

    from kwire_pipeline.source.bronze import InvalidColumn
    from kwire_pipeline.source.recording import read_recording

    try:
        frames = read_recording(tables.engine, path)
    except (PySparkException, InvalidColumn) as error:
        text = str(error).partition("\n")[0]
        raise click.BadParameter(f"{path}: {text}", param_hint="--recording") from None
    return tables.ingest(frames)


def _check_recording(path: str) -> None:
    """Check a local file. Spark resolves patterns and other file systems, also behind a plain path in spark-submit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kwire_pipeline.session import started_by_spark_submit
    from kwire_pipeline.source.recording import local_files, plain_type

    files = None if started_by_spark_submit() else local_files(path)
    if files is None:
        return
    types: dict[str, tuple[pa.DataType, Path]] = {}
    for file in files:
        try:
            with pq.ParquetFile(file) as parquet:
                columns = {parquet.schema.column(i).path: parquet.schema.column(i) for i in range(len(parquet.schema))}
                schema = parquet.schema_arrow
        except pa.ArrowInvalid as error:
            raise ValueError(f"{file} is not a Parquet file: {error}".partition("\n")[0]) from error
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error}".partition("\n")[0]) from error
        for field in schema:
            type = field.type
            if schema.names.count(field.name) > 1:
                raise ValueError(f"{file} has the column {field.name} more than once")
            if pa.types.is_timestamp(type) and type.unit == "ns":
                # Arrow has one type for INT96, which Spark reads, and INT64 with nanoseconds.
                if columns[field.name].physical_type != "INT96":
                    raise ValueError(f"the column {field.name} of {file} is {type}: expected timestamp[us]")
                type = pa.timestamp("us", "UTC")
            known, other = types.setdefault(field.name, (type, file))
            if plain_type(known) != plain_type(type):
                raise ValueError(f"the column {field.name} is {type} in {file}, and {known} in {other}")
