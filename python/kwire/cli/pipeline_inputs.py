"""Inputs of `kwire pipeline ingest`: desired configs, recordings, and checks that need no Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    DesiredConfigs: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]


def read_desired(texts: Sequence[str]) -> dict[str, DesiredConfigs]:
    """Return the desired configs of clusters, of texts like `CLUSTER_ID=FILE`."""
    from kwire.client.admin import ConfigResource, ConfigResourceType
    from kwire.operations.cluster_document.document import read
    from kwire.operations.parameters import InvalidArgument

    def resource_of(resource: ConfigResource) -> tuple[str, str]:
        is_default = resource.type is ConfigResourceType.BROKER and not resource.name
        return ("cluster", "") if is_default else (resource.type.singular, resource.name)

    by_cluster: dict[str, DesiredConfigs] = {}
    for text in texts:
        cluster_id, separator, file = text.rpartition("=")
        if not separator:
            raise click.BadParameter(f"expected CLUSTER_ID=FILE, got {text!r}", param_hint="--desired")
        try:
            configs = read(Path(file)).configs
        except InvalidArgument as error:
            raise click.BadParameter(str(error), param_hint="--desired") from None
        by_cluster[cluster_id] = {
            resource_of(resource): {name: value for name, value in values.items() if value is not None}  # no secrets
            for resource, values in configs.items()
        }
    return by_cluster


def read_recording(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        raise click.BadParameter(str(error).partition("\n")[0], param_hint="--recording") from None


def check_inputs(out: str, recordings: Sequence[str], captures: Sequence[str], bootstrap: str | None) -> None:
    """Check files, folders, and addresses on this machine before Spark starts.

    Raises:
        BadParameter: the value of an option is invalid.
    """
    from kwire.capture import segments
    from kwire.errors import KwireError
    from kwire.protocol import Endpoint
    from kwire.spark.store.commits import PipelineStore

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
        PipelineStore(out)  # last, since it creates the folder
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
            raise ValueError(f"{path} is not a Parquet file: {error}".partition("\n")[0]) from error
