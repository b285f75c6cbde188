"""The tables of silver, each column with its type, what it means, and its unit where it has one.

Rules of this file: this is the only place where a table of silver is written down. The schemas of files (Arrow) and of
DataFrames (DDL), the order of the values in a row and the tables of docs/pipeline.md are derived from it.

Layout: ``OUT/silver/<table>/date=YYYY-MM-DD/*.parquet``, the date being that of ``at`` (of ``polled_at`` in `polls` and
`bad_frames`) in UTC. Rows are only ever added, but when late frames re-open a stretch of time.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """``type``: as Spark's DDL writes it."""

    name: str
    type: str
    doc: str
    unit: str = ""


class Table(NamedTuple):
    """``time``: the column by whose date its files lie."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    time: str = "at"

    @property
    def ddl(self) -> str:
        """The schema as Spark writes it, without the folder ``date``."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def arrow(self) -> pa.Schema:
        """The schema of its files."""
        return _arrow(self)


@cache
def _arrow(table: Table) -> pa.Schema:
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "array<int>": pa.list_(pa.field("element", pa.int32())),
        "binary": pa.binary(),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in table.columns])


_WHO = (
    Column("cluster_id", "string", "the cluster; '' where no answer ever told it"),
    Column("at", "timestamp", "the answer that told it", "UTC"),
    Column("broker_id", "int", "the broker that told it; -1 unknown"),
)
_CHANGE = Column(
    "change", "string", "'set': so from now on; 'gone': no longer told, and the other fields are the last known"
)
_TOPIC = Column("topic", "string", "the topic's name")
_PARTITION = Column("partition", "int", "the partition's number within the topic, from 0")
_TOPIC_ID = Column(
    "topic_id", "string", "the topic's id as Kafka writes it (22 characters); null in a cluster without ids"
)

_POLL = (
    Column("cluster_id", "string", "the cluster; '' where no answer ever told it"),
    Column("polled_at", "timestamp", "when the answer was complete, or missed", "UTC"),
    Column("broker_id", "int", "the broker that was asked; -1 unknown"),
)

_TABLES = (
    Table(
        "brokers",
        "The brokers that a broker lists in its Metadata.",
        (
            *_WHO,
            Column("node_id", "int", "the broker listed"),
            _CHANGE,
            Column("host", "string", "its advertised name or address"),
            Column("port", "int", "its advertised port"),
            Column("rack", "string", "where it stands; null when not configured"),
        ),
    ),
    Table(
        "registrations",
        "The brokers that DescribeCluster lists, from version 2 on also those that are out of service.",
        (
            *_WHO,
            Column("node_id", "int", "the broker listed"),
            _CHANGE,
            Column("host", "string", "its advertised name or address"),
            Column("port", "int", "its advertised port"),
            Column("rack", "string", "where it stands; null when not configured"),
            Column("fenced", "boolean", "whether it is registered and out of service (false before version 2)"),
        ),
    ),
    Table(
        "topics",
        "The topics that a broker lists.",
        (
            *_WHO,
            _TOPIC,
            _CHANGE,
            _TOPIC_ID,
            Column("is_internal", "boolean", "whether Kafka made it for its own use"),
            Column("partitions", "int", "how many partitions it has", "partitions"),
            Column("replication_factor", "int", "the longest replica list among its partitions", "replicas"),
            Column("error_code", "int", "0, or Kafka's error for the topic"),
        ),
    ),
    Table(
        "partitions",
        "The partitions of the topics that a broker lists.",
        (
            *_WHO,
            _TOPIC,
            _TOPIC_ID,
            _PARTITION,
            _CHANGE,
            Column("error_code", "int", "0, or Kafka's error for the partition: 5 no leader"),
            Column("leader", "int", "the broker that leads it; -1 none"),
            Column("leader_epoch", "int", "counts its leaders, under one topic id; -1 not told"),
            Column("replicas", "array<int>", "the brokers that shall hold it, the preferred leader first"),
            Column("isr", "array<int>", "those in sync with the leader"),
            Column("offline", "array<int>", "those that are down"),
        ),
    ),
    Table(
        "configs",
        "Settings as DescribeConfigs tells them (kip4: a topic's own). Answers with an error tell nothing.",
        (
            *_WHO,
            Column(
                "resource_type",
                "string",
                "'topic', 'broker', 'cluster' (the default of all brokers), or Kafka's number",
            ),
            Column("resource", "string", "the topic's name, the broker's id; '' for the cluster"),
            Column("key", "string", "the setting's name"),
            _CHANGE,
            Column("value", "string", "its value as text; null when it has none or is secret"),
            Column("source", "int", "who set it: 1 topic, 2 broker, 3 cluster default, 4 file, 5 nobody; -1 not told"),
        ),
    ),
    Table(
        "features",
        "The finalized features of a cluster (KIP-584), as ApiVersions tells them.",
        (
            *_WHO,
            Column("name", "string", "the feature"),
            _CHANGE,
            Column("min", "int", "the lowest level in force"),
            Column("max", "int", "the highest level in force"),
            Column("epoch", "bigint", "the epoch of the set of features in which this was told; -1 unknown"),
        ),
    ),
    Table(
        "lag",
        "How far replicas are behind, by the minute; a minute without a row had the last one's `last`. A minute "
        "that was under way when an ingest ended has two rows.",
        (
            *_WHO,
            _TOPIC,
            _PARTITION,
            Column("replica", "int", "the broker that holds the replica"),
            Column("minute", "timestamp", "the beginning of the minute", "UTC"),
            Column("min", "bigint", "the smallest lag told in it", "records"),
            Column("max", "bigint", "the greatest", "records"),
            Column("last", "bigint", "the last", "records"),
        ),
    ),
    Table(
        "polls",
        "Every question that was asked, and whether it was answered.",
        (
            *_POLL,
            Column("endpoint", "string", "host:port that was asked"),
            Column("api_key", "int", "which request: 3 Metadata, 32 DescribeConfigs, ..."),
            Column(
                "kind",
                "string",
                "'full': an answer; 'same': equal to the last one; 'error': none, or one that cannot be read",
            ),
            Column("topics", "int", "topics in a Metadata answer; null for others", "topics"),
            Column("partitions", "int", "partitions in a Metadata answer; null for others", "partitions"),
            Column("bytes", "bigint", "size of the answer; null where it was not kept", "bytes"),
            Column("duration_us", "bigint", "from asking to answer; null when not recorded", "microseconds"),
            Column("changed_topics", "int", "topics told otherwise than before; null for other requests", "topics"),
            Column("error", "string", "why there is no answer"),
            Column(
                "controller_id", "int", "the controller as the answer says; null when it does not. KRaft: any broker"
            ),
            Column(
                "suspect",
                "boolean",
                "no topics or no brokers, and the broker knew some before: not believed until its next answer agrees",
            ),
        ),
        time="polled_at",
    ),
    Table(
        "bad_frames",
        "Answers that could not be read; bronze has them whole.",
        (
            *_POLL,
            Column("api_key", "int", "which request"),
            Column("api_version", "int", "in which version"),
            Column(
                "kind", "string", "kwire's kind of decode error, or 'unknown_version', 'unknown_api', 'no_full_frame'"
            ),
            Column(
                "offset",
                "bigint",
                "where in the payload, from the correlation id; null where that says nothing",
                "bytes",
            ),
            Column("path", "string", "the field, like topics[3].partitions[0].leader_id"),
            Column("bytes", "binary", "up to 32 bytes before and behind that place"),
        ),
        time="polled_at",
    ),
)

SILVER_SCHEMAS: dict[str, Table] = {table.name: table for table in _TABLES}
"""By name."""


def as_markdown() -> str:
    """The tables for docs/pipeline.md."""
    parts = []
    for table in _TABLES:
        parts.append(f"### {table.name}\n\n{table.doc}\n\n| column | type | meaning | unit |\n|---|---|---|---|")
        parts.extend(f"| {c.name} | {c.type} | {c.doc} | {c.unit} |" for c in table.columns)
        parts.append("")
    return "\n".join(parts)
