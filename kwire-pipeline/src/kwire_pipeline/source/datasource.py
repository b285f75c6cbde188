"""The Spark data source `format("kwire")`: captures, and clusters that are polled into a capture.

    spark.read.format("kwire").load("/captures/prod")
    spark.readStream.format("kwire").option("bootstrap", "broker-1:9092").load("/captures/prod")

The rows have the columns of bronze (docs/pipeline.md). The options are:

- `path`: the folder of the capture, or its URI in an object store or HDFS;
- `fromRow`: number of the first row [default: 0];
- `toRow`: number of the row to stop before; not for streams;
- `since`, `until`: times in ISO 8601; effective rows at `since` come first, as 'carried' rows;
- `clusters`, `brokers`: ids, separated by commas;
- `filterPushdown`: `true` to apply the filters of a query to `polled_at`, `cluster_id`, and `broker_id` here as well
  (Spark 4.1 and later, with `spark.sql.python.filterPushdown.enabled`);
- `missingRows`: `report` to return one row of kind 'missing' for rows that no segment has [default], or `fail`;
- `ignoreDamaged`: `true` to pass over segments that cannot be read, with a warning for each;
- `maxFilesPerTrigger`, `maxBytesPerTrigger`: how many segments, or bytes of segments, a micro-batch reads, at least one
  segment (Spark 4.2 and later);
- `bootstrap`: a cluster to poll into the folder, while a stream runs or before a batch is read; with a URI, the polls
  of each minute are uploaded together;
- `commandConfig`: the path of a `client.properties` with TLS and SASL settings, on the machine of the driver;
- `interval`: seconds between polls [default: 1];
- `configs`, `groups`, `logDirs`: seconds between polls of a further input (`kwire.client.polled_inputs`);
- `seconds`: how long a batch polls [default: 5].

Spark writes options to plans and event logs, so it refuses Kafka's own settings as options: put them into the file.

An offset of a stream is the number of a row in the capture, which never changes, so a stream that restarts from its
checkpoint loses and repeats nothing. A partition is a segment. The rows that were effective where a read or a stream
begins come first, as 'carried' rows, since 'same' rows may refer to them; carried rows of later segments are left out.

Spark finds the format by itself where the wheel is installed (package `pyspark_kwire`); `register` adds it explicitly.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from kwire.declare.secrets import is_secret_config
from kwire.errors import KwireError
from kwire_pipeline.session import use_driver_python
from kwire_pipeline.source.bronze import DDL
from kwire_pipeline.source.capture_readers import (
    UNBOUNDED,
    CaptureReader,
    CaptureStreamReader,
    PushdownCaptureReader,
    ReadOptions,
)
from kwire_pipeline.source.capture_segments import capture_location
from kwire_pipeline.source.missing_rows import MissingRowsPolicy
from kwire_pipeline.source.row_selection import RowSelection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from kwire_pipeline.source.limited_stream import LimitedCaptureStreamReader
    from kwire_pipeline.source.live_source import PolledCluster


INTENDED_OPTIONS = {"bootstrap": "bootstrap", "bootstrapservers": "bootstrap", "commandconfig": "commandConfig"}
"""Options by their letters: with another spelling, a cluster would not be polled, or without its TLS and SASL."""


class InvalidOption(KwireError, ValueError):
    """An option of the data source with an invalid value; `expected` describes valid ones."""

    def __init__(self, option: str, value: str, expected: str) -> None:
        super().__init__(option, value, expected)
        self.option = option
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"invalid option {self.option!r} of format('kwire'): expected {self.expected}, found {self.value!r}"


class RefusedOption(KwireError, ValueError):
    """An option that would show a setting of a connection, perhaps a secret, in Spark's plans and event logs."""

    def __init__(self, option: str) -> None:
        super().__init__(option)
        self.option = option

    def __str__(self) -> str:
        return (
            f"option {self.option!r} of format('kwire') is refused, because Spark writes options to plans and event"
            " logs: put it into a client.properties, and pass the path as option 'commandConfig'"
        )


def register(spark: SparkSession) -> None:
    """Register `format("kwire")` with a session, and let workers of a local session run the driver's Python.

    It may be called again.
    """
    use_driver_python(spark)
    try:
        spark.dataSource.register(KwireSource)
    except AnalysisException as error:
        # Spark 4.0 rejects a source that it has found by itself or that was registered before.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


class KwireSource(DataSource):
    """The format `kwire`."""

    @classmethod
    def name(cls) -> str:
        return "kwire"

    def schema(self) -> str:
        # Spark calls this first, when a frame is defined and before anything is logged.
        for option in self.options:
            name = option.lower()
            if name.startswith(("kafka.", "sasl.", "ssl.", "security.")) or is_secret_config(name):
                raise RefusedOption(option)
            intended = INTENDED_OPTIONS.get(re.sub(r"[^a-z]", "", name))
            if intended is not None and name != intended.lower():
                raise InvalidOption(option, self.options[option], f"its name to be {intended}")
        return DDL.replace(" timestamp", " timestamp_ltz")  # whatever `spark.sql.timestampType` says

    def reader(self, schema: StructType) -> DataSourceReader:
        folder = self._folder()
        first, stop = self._row_number("fromRow", 0), self._row_number("toRow", UNBOUNDED)
        if cluster := self._cluster():
            seconds = self._seconds("seconds", 5.0)
            with cluster.polling(folder) as polling:
                polling.wait(seconds)
        reader_class = PushdownCaptureReader if self._flag("filterPushdown") else CaptureReader
        return reader_class(folder, first, stop, self._read_options(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        folder, start, cluster = self._folder(), self._row_number("fromRow", 0), self._cluster()
        options = self._read_options(schema)
        for option, limit_class in (("maxFilesPerTrigger", "ReadMaxFiles"), ("maxBytesPerTrigger", "ReadMaxBytes")):
            if option in self.options:
                reader_class, limit = _limited(option, limit_class, self._row_number(option, 1))
                return reader_class(folder, start, cluster, options, limit)
        return CaptureStreamReader(folder, start, cluster, options)

    def _read_options(self, schema: StructType) -> ReadOptions:
        clusters, brokers = self._list("clusters"), self._list("brokers")
        if brokers is not None and not all(broker.removeprefix("-").isdigit() for broker in brokers):
            raise InvalidOption("brokers", self.options["brokers"], "ids of brokers, separated by commas")
        ids = None if brokers is None else frozenset(map(int, brokers))
        selection = RowSelection(self._time("since"), self._time("until"), clusters, ids)
        return ReadOptions(selection, tuple(schema.names), self._flag("ignoreDamaged"), self._policy())

    def _list(self, option: str) -> frozenset[str] | None:
        value = self.options.get(option)
        return None if value is None else frozenset(part.strip() for part in value.split(","))

    def _time(self, option: str) -> datetime | None:
        value = self.options.get(option)
        if value is None:
            return None
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidOption(option, value, "a time such as 2026-11-21T14:05+00:00") from None
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)

    def _flag(self, option: str) -> bool:
        value = self.options.get(option, "false").lower()
        if value not in {"true", "false"}:
            raise InvalidOption(option, value, "true or false")
        return value == "true"

    def _policy(self) -> MissingRowsPolicy:
        value = self.options.get("missingRows", MissingRowsPolicy.REPORT.value).lower()
        if value not in list(MissingRowsPolicy):
            raise InvalidOption("missingRows", value, " or ".join(MissingRowsPolicy))
        return MissingRowsPolicy(value)

    def _folder(self) -> str:
        path = self.options.get("path")
        if not path:
            raise ValueError('format("kwire") needs the folder of a capture: load("/captures/prod")')
        return capture_location(path)

    def _row_number(self, option: str, default: int) -> int:
        value = self.options.get(option, str(default))
        if not (value.isascii() and value.isdigit()):
            raise InvalidOption(option, value, "the number of a row, from 0")
        return int(value)

    def _seconds(self, option: str, default: float) -> float:
        value = self.options.get(option, str(default))
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise InvalidOption(option, value, "a number of seconds above 0")
        return seconds

    def _cluster(self) -> PolledCluster | None:
        bootstrap = self.options.get("bootstrap")
        path = self.options.get("commandConfig")
        command_config = capture_location(path) if path else None
        if not bootstrap:
            return None
        from kwire.client.polled_inputs import INPUTS
        from kwire_pipeline.source.live_source import PolledCluster

        options = {name: _camel_case(name) for name in INPUTS}
        inputs = {name: self._seconds(option, 1.0) for name, option in options.items() if option in self.options}
        return PolledCluster(bootstrap, self._seconds("interval", 1.0), command_config, inputs)


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def _limited(option: str, limit_class: str, value: int) -> tuple[type[LimitedCaptureStreamReader], ReadLimit]:
    """Return the reader of streams with a limit, and the limit."""
    try:
        from pyspark.sql.streaming import datasource

        from kwire_pipeline.source.limited_stream import LimitedCaptureStreamReader
    except ImportError:
        raise InvalidOption(option, str(value), "Spark 4.2 or later") from None
    return LimitedCaptureStreamReader, getattr(datasource, limit_class)(value)
