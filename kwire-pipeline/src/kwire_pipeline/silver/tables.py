"""The tables of silver.

Layout: `OUT/silver/<table>/date=YYYY-MM-DD/*.parquet`, with the date of `at` (in `polls` and `bad_frames`, of
`polled_at`) in UTC. Rows are only added, except when late frames replace what a broker reported from a day on.
"""

from __future__ import annotations

from dataclasses import replace

from kwire_pipeline.tables import CHANGE, PARTITION, POLLER_ID, REPORTED, TOPIC, Column, Table

_TOPIC_ID = Column(
    "topic_id", "string", "the topic's id (KIP-516) as Kafka writes it, 22 characters; null without topic ids"
)

_GROUP = Column("group", "string", "the group's id")
_LOG_DIR = Column("log_dir", "string", "the path of the directory on the broker")

_LISTED_BROKER = (
    *REPORTED,
    Column("node_id", "int", "the listed broker"),
    CHANGE,
    Column("host", "string", "its advertised host name or address"),
    Column("port", "int", "its advertised port"),
    Column("rack", "string", "its rack (`broker.rack`, KIP-36); null if not configured"),
)

_POLL = (
    Column("cluster_id", "string", "the cluster; '' where no response contains its id"),
    Column("polled_at", "timestamp", "when the response was complete, or the poll failed", "UTC"),
    Column("broker_id", "int", "the broker that was polled; -1 if unknown"),
)

_TABLES = (
    Table(
        "brokers",
        "The brokers that a broker lists in its Metadata responses.",
        _LISTED_BROKER,
    ),
    Table(
        "registrations",
        "The brokers that DescribeCluster lists; from version 2 on, fenced brokers too.",
        (
            *_LISTED_BROKER,
            Column("fenced", "boolean", "whether it is fenced (KIP-1073; false before version 2)"),
        ),
    ),
    Table(
        "topics",
        "The topics that a broker lists.",
        (
            *REPORTED,
            TOPIC,
            CHANGE,
            _TOPIC_ID,
            Column("is_internal", "boolean", "whether it is an internal topic"),
            Column("partitions", "int", "number of partitions", "partitions"),
            Column("replication_factor", "int", "length of the longest replica list of its partitions", "replicas"),
            Column("error_code", "int", "Kafka's error code for the topic; 0 for success"),
        ),
    ),
    Table(
        "partitions",
        "The partitions of the topics that a broker lists.",
        (
            *REPORTED,
            TOPIC,
            _TOPIC_ID,
            PARTITION,
            CHANGE,
            Column("error_code", "int", "Kafka's error code for the partition; 0 for success, 5 without a leader"),
            Column("leader", "int", "the leader; -1 without a leader"),
            Column("leader_epoch", "int", "the leader epoch (KIP-320); -1 if not reported"),
            Column("replicas", "array<int>", "the brokers that are assigned a replica, the preferred leader first"),
            Column("isr", "array<int>", "the replicas in sync with the leader"),
            Column("offline", "array<int>", "the replicas that are offline"),
        ),
    ),
    Table(
        "configs",
        "Configs as DescribeConfigs reports them (kip4: overrides of topics). Responses with an error are ignored.",
        (
            *REPORTED,
            Column(
                "resource_type",
                "string",
                "'topic', 'broker', 'cluster' (the default of all brokers), or Kafka's resource type number",
            ),
            Column("resource", "string", "the topic's name or the broker's id; '' for the cluster"),
            Column("key", "string", "the name of the config"),
            CHANGE,
            Column("value", "string", "its value as text; null if it has none or is sensitive"),
            Column(
                "source",
                "int",
                "Kafka's config source: 1 topic, 2 broker, 3 cluster default, 4 file, 5 Kafka's "
                "default; -1 if not reported",
            ),
        ),
    ),
    Table(
        "features",
        "The finalized features of a cluster (KIP-584), as ApiVersions reports them.",
        (
            *REPORTED,
            Column("name", "string", "the feature"),
            CHANGE,
            Column("min", "int", "the lowest finalized version level"),
            Column("max", "int", "the highest finalized version level"),
            Column("epoch", "bigint", "the epoch of the finalized features; -1 if unknown"),
        ),
    ),
    Table(
        "lag",
        "The lag of replicas by minute; in a minute without a row it equals the last row's `last`. A "
        "minute in which an ingest ended has two rows.",
        (
            *REPORTED,
            TOPIC,
            PARTITION,
            Column("replica", "int", "the broker that has the replica"),
            Column("minute", "timestamp", "the beginning of the minute", "UTC"),
            Column("min", "bigint", "the smallest lag reported in it", "records"),
            Column("max", "bigint", "the largest lag", "records"),
            Column("last", "bigint", "the last lag", "records"),
        ),
    ),
    Table(
        "groups",
        "The groups that a broker coordinates.",
        (
            *REPORTED,
            _GROUP,
            CHANGE,
            Column("state", "string", "its state, such as 'Stable' or 'Empty'; '' before Kafka 2.6"),
            Column("type", "string", "'classic', 'consumer', ...; '' before Kafka 3.8"),
            Column(
                "protocol_type", "string", "the kind of its members, such as 'consumer'; '' if it only commits offsets"
            ),
        ),
    ),
    Table(
        "group_offsets",
        "The committed offsets of groups.",
        (
            *REPORTED,
            _GROUP,
            TOPIC,
            PARTITION,
            CHANGE,
            Column("committed_offset", "bigint", "the offset of the next record that the group reads"),
        ),
    ),
    Table(
        "log_ends",
        "The ends of the logs of partitions.",
        (
            *REPORTED,
            TOPIC,
            PARTITION,
            CHANGE,
            Column("log_end", "bigint", "the high watermark: the offset after the last record that consumers can read"),
        ),
    ),
    Table(
        "log_dirs",
        "The log directories of a broker.",
        (
            *REPORTED,
            _LOG_DIR,
            CHANGE,
            Column("error_code", "int", "0; 56 if the directory is offline"),
            Column("total_bytes", "bigint", "size of its volume; -1 if unknown (before Kafka 3.3)", "bytes"),
            Column("usable_bytes", "bigint", "usable space of its volume; -1 if unknown (before Kafka 3.3)", "bytes"),
            Column("is_cordoned", "boolean", "whether it gets no new partitions"),
        ),
    ),
    Table(
        "topic_sizes",
        "The replicas of a topic in a log directory.",
        (
            *REPORTED,
            _LOG_DIR,
            TOPIC,
            CHANGE,
            Column("replicas", "int", "number of replicas, without future ones", "replicas"),
            Column("bytes", "bigint", "size of their log segments", "bytes"),
            Column("future_replicas", "int", "replicas that are moving to this directory", "replicas"),
            Column("future_bytes", "bigint", "size of their log segments", "bytes"),
        ),
    ),
    Table(
        "polls",
        "Every poll, and whether it succeeded.",
        (
            *_POLL,
            Column("endpoint", "string", "host:port that was polled"),
            Column("api_key", "int", "the API key of the request: 3 Metadata, 32 DescribeConfigs, ..."),
            Column(
                "kind",
                "string",
                "'full': a response; 'same': a response equal to the last one; 'error': no response, "
                "or one that cannot be decoded",
            ),
            Column("topics", "int", "topics in a Metadata response; null for other requests", "topics"),
            Column("partitions", "int", "partitions in a Metadata response; null for other requests", "partitions"),
            Column("bytes", "bigint", "size of the response; null if it was not kept", "bytes"),
            Column("duration_us", "bigint", "from request to response; null if not recorded", "microseconds"),
            Column(
                "changed_topics",
                "int",
                "topics that differ from the response before; null for other requests",
                "topics",
            ),
            Column("error", "string", "why the poll failed"),
            Column(
                "controller_id",
                "int",
                "the controller in the response; null if it has none. Under KRaft, a random live broker",
            ),
            Column(
                "suspect",
                "boolean",
                "whether the response lists no topics or no brokers and is not confirmed yet: it changes nothing",
            ),
            Column(
                "clock_step_us",
                "bigint",
                "by how much the poller's clock was set since its poll before; null if it was not",
                "microseconds",
            ),
        ),
        time="polled_at",
    ),
    Table(
        "poll_gaps",
        "Times without a Metadata poll: the poller was away, rows of its capture are missing, or its clock was set "
        "forward.",
        (
            Column("cluster_id", "string", "the cluster; '' where no response contains its id"),
            Column("polled_at", "timestamp", "the end: the first poll after it", "UTC"),
            Column("broker_id", "int", "the broker that was not polled; -1 if unknown"),
            Column("last_polled_at", "timestamp", "the beginning: the last poll before it", "UTC"),
            Column("usual_interval_us", "bigint", "the median of up to five intervals before it", "microseconds"),
            Column("missed_polls", "bigint", "polls at the usual interval that it has room for", "polls"),
        ),
        time="polled_at",
    ),
    Table(
        "bad_frames",
        "Responses that cannot be decoded, and polls with times of a wrong clock; bronze has the whole frames.",
        (
            *_POLL,
            Column("api_key", "int", "the API key of the request"),
            Column("api_version", "int", "its version"),
            Column(
                "kind",
                "string",
                "kwire's kind of decode error, or 'unknown_version', 'unknown_api', 'no_full_frame', 'clock_ahead', "
                "'clock_behind'",
            ),
            Column(
                "offset",
                "bigint",
                "position in the payload, from the correlation id; null if not applicable",
                "bytes",
            ),
            Column("path", "string", "the field, like topics[3].partitions[0].leader_id"),
            Column("bytes", "binary", "up to 32 bytes before and after that position"),
        ),
        time="polled_at",
    ),
)

SILVER_SCHEMAS: dict[str, Table] = {
    table.name: replace(table, columns=(*table.columns, POLLER_ID)) for table in _TABLES
}
"""The tables by name."""
