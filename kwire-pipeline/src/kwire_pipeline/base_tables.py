"""The declarations of the tables beside silver and gold: frames that were ingested as rows, and commits."""

from __future__ import annotations

from kwire_pipeline.tables import Column, Table

BRONZE = Table(
    "bronze",
    "Frames that were ingested as DataFrames, one row per poll; the columns are those of a capture.",
    (
        Column("cluster_id", "string", "the cluster, from this response or the last one of the broker; '' if unknown"),
        Column("polled_at", "timestamp", "when the response was complete, or the poll failed", "UTC"),
        Column("broker_id", "int", "the broker that was polled; -1 if unknown"),
        Column("endpoint", "string", "host:port that was polled"),
        Column("dialect", "string", "'kafka' or 'kip4' (the drafts of KIP-4)"),
        Column("controller_id", "int", "the controller in the response; null if it has none"),
        Column("api_key", "smallint", "the API key of the request: 3 Metadata, 32 DescribeConfigs, ..."),
        Column("api_version", "smallint", "its version"),
        Column(
            "kind", "string", "'full', 'same' (as the last one), 'error' (no response), or 'carried' (a repetition)"
        ),
        Column("duration_us", "bigint", "from request to response; null if not recorded", "microseconds"),
        Column("frame", "binary", "the payload of the response from the correlation id on; null unless 'full'"),
        Column("request", "binary", "the payload of the request from the API key on"),
        Column("error", "string", "why the poll failed"),
        Column("poller_id", "string", "the poller that asked; null if unknown"),
        Column(
            "clock_step_us",
            "bigint",
            "by how much the poller's clock was set since its poll before; null if it was not",
            "microseconds",
        ),
    ),
    time="polled_at",
)

COMMITS = Table(
    "ingests",
    "The commits of the store. A row decides one commit of all tables.",
    (
        Column("number", "bigint", "the number of the commit, from 1"),
        Column("committed_at", "timestamp", "when it was decided", "UTC"),
        Column("kind", "string", "'ingest', 'reopening ingest', 'gold', 'desired', 'optimize', 'expire', or 'repair'"),
        Column("oldest", "timestamp", "the time of the oldest poll that it added; null without polls", "UTC"),
        Column("rows", "map<string,bigint>", "added rows by table", "rows"),
        Column("versions", "map<string,bigint>", "the Delta version of each table after the commit"),
        Column("commits", "map<string,bigint>", "the number of the last commit that changed each table"),
        Column("totals", "map<string,bigint>", "the number of rows of each table after the commit", "rows"),
        Column("record", "string", "the file with the files that it added and removed"),
    ),
    time="committed_at",
)
