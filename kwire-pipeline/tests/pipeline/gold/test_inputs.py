"""Silver and gold of the inputs besides metadata, from made-up responses of one broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.capture.rows import Row
from kwire.messages.kafka.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.silver.state_builder import StateBuilder
from tests.pipeline.bronze_rows import START, response, table, topic
from tests.pipeline.recorded import silver_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.declare import Message, Request

GROUP, TOPIC = "billing", "orders"
STORAGE_ERROR = 56


def answer(at: float, request: Request[Any], message: Message, version: int) -> Row:
    """Return the row of a response of broker 1."""
    return Row(
        START + timedelta(seconds=at),
        1,
        "k1:9092",
        api_key=request.api_key,
        api_version=version,
        cluster_id="c",
        frame=frame.encode_response(message, version=version, correlation_id=1)[4:],
        request=frame.encode_request(request, version=version, correlation_id=1)[4:],
    )


def listed(at: float, *groups: str, state: str = "Stable") -> Row:
    found = tuple(ListedGroup(group_id=group, protocol_type="consumer", group_state=state) for group in groups)
    return answer(at, ListGroupsRequest(), ListGroupsResponse(error_code=0, groups=found), 4)


def committed(at: float, offset: int, *groups: str, error: int = 0) -> Row:
    partition = OffsetFetchResponsePartitions(partition_index=0, committed_offset=offset, metadata="", error_code=error)
    topics = (OffsetFetchResponseTopics(name=TOPIC, partitions=(partition,)),)
    names = groups or (GROUP,)
    request = OffsetFetchRequest(groups=tuple(OffsetFetchRequestGroup(group_id=name, topics=None) for name in names))
    found = tuple(OffsetFetchResponseGroup(group_id=name, topics=topics, error_code=0) for name in names)
    return answer(at, request, OffsetFetchResponse(groups=found), 8)


def log_end(at: float, offset: int, error: int = 0) -> Row:
    partition = ListOffsetsPartitionResponse(partition_index=0, error_code=error, offset=offset)
    message = ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name=TOPIC, partitions=(partition,)),))
    return answer(at, ListOffsetsRequest(replica_id=-1, topics=()), message, 7)


def directory(at: float, usable: int, size: int = 7, error: int = 0) -> Row:
    replica = DescribeLogDirsPartition(partition_index=0, partition_size=size, offset_lag=0, is_future_key=False)
    moving = DescribeLogDirsPartition(partition_index=1, partition_size=1, offset_lag=0, is_future_key=True)
    topics = () if error else (DescribeLogDirsTopic(name=TOPIC, partitions=(replica, moving)),)
    result = DescribeLogDirsResult(
        error_code=error, log_dir="/data", topics=topics, total_bytes=1000, usable_bytes=usable
    )
    return answer(
        at, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse(throttle_time_ms=0, results=(result,)), 4
    )


def test_state_of_a_slice_continues_in_the_next() -> None:
    """A slice that starts with the kept state adds no rows for what it knows."""
    rows = [
        response(0, topic(TOPIC)),
        listed(1, GROUP, "audit"),
        committed(2, 5, GROUP, "audit"),
        log_end(3, 9),
        directory(4, 500),
        listed(5, GROUP),
        committed(6, 6),
        committed(7, -1, error=88),
        log_end(8, -1, error=6),
        log_end(9, 10),
        directory(10, 400),
        response(11),
        response(13),
    ]
    whole = silver_rows(rows)
    for split in range(len(rows)):
        builder = StateBuilder()
        for row in rows[:split]:
            builder.apply(row)
        builder.end()
        state = builder.state()
        parts = [builder.take(), silver_rows(rows[split:], state)]
        joined = {name: parts[0][name] + parts[1][name] for name in whole if name != "lag"}
        assert joined == {name: found for name, found in whole.items() if name != "lag"}, split

    assert [row[3:-1] for row in whole["group_offsets"]] == [
        (GROUP, TOPIC, 0, "set", 5),
        ("audit", TOPIC, 0, "set", 5),
        ("audit", TOPIC, 0, "gone", 5),
        (GROUP, TOPIC, 0, "set", 6),
    ]
    assert [row[3:-1] for row in whole["log_ends"]] == [
        (TOPIC, 0, "set", 9),
        (TOPIC, 0, "set", 10),
        (TOPIC, 0, "gone", 10),
    ]
    assert [row[3:-1] for row in whole["topic_sizes"]] == [("/data", TOPIC, "set", 1, 7, 1, 1)]


HOUR = 3600


def history() -> list[Row]:
    """Return four hours: a group stalls and continues, and a volume becomes full, goes offline, and returns."""
    polls = [response(at, topic(TOPIC)) for at in range(0, 4 * HOUR, 600)]
    groups = [listed(1, GROUP), committed(2, 4), committed(600, 5)]
    ends = [log_end(HOUR + 20 * number, 5 + number) for number in range(300)]
    commits = [committed(2.5 * HOUR, 100), committed(3 * HOUR + 30, 304)]
    usable = ((10, 500), (HOUR, 40), (1.5 * HOUR, 70), (2 * HOUR, 30), (3 * HOUR, 200))
    directories = [directory(at, bytes, size=1000 - bytes) for at, bytes in usable]
    offline = [directory(2.25 * HOUR, -1, error=STORAGE_ERROR), directory(2.4 * HOUR, 30, size=970)]
    return sorted([*polls, *groups, *ends, *commits, *directories, *offline], key=lambda row: row.polled_at)


@pytest.mark.usefixtures("one_shuffle_partition")
def test_incidents_of_groups_and_disks_are_the_same_in_hourly_builds(spark: SparkSession, tmp_path: Path) -> None:
    rows = history()
    found = []
    for name, times in (("whole", [4]), ("hourly", [2.3, 4])):
        pipeline, since = Pipeline(spark, str(tmp_path / name)), START
        for stop in times:
            until = START + timedelta(hours=stop)
            part = [row for row in rows if since <= row.polled_at < until]
            pipeline.ingest(table(spark, tmp_path / "bronze", *part))
            pipeline.gold()
            since = until
        found.append(contents(pipeline))
    assert found[0] == found[1]

    whole = found[0]
    incidents = [
        (row.kind, row.broker_id, seconds(row.first_sign_at), row.ended_at and seconds(row.ended_at))
        for row in whole["incidents"]
        if row.kind in {"group_stalled", "disk_almost_full", "log_dir_offline"}
    ]
    assert incidents == [
        ("disk_almost_full", 1, HOUR, 3 * HOUR),
        ("group_stalled", None, HOUR + 60, 2.5 * HOUR),
        ("log_dir_offline", 1, 2.25 * HOUR, 2.4 * HOUR),
        ("group_stalled", None, 2.5 * HOUR + 60, 3 * HOUR + 30),
    ]
    lag = {seconds(row.at): (row.committed_offset, row.log_end, row.lag) for row in whole["consumer_lag"]}
    assert lag[2 * HOUR] == (5, 187, 182)
    assert lag[3 * HOUR] == (304, 304, 0)
    assert [(row.usable_bytes, row.min_usable_bytes, row.offline) for row in whole["disk_usage"]] == [
        (500, 500, False),
        (70, 40, False),
        (30, 30, False),
        (200, 200, False),
    ]
    assert [(row.bytes, row.max_bytes) for row in whole["topic_disk_usage"]] == [
        (500, 500),
        (930, 960),
        (970, 970),
        (800, 800),
    ]


def contents(pipeline: Pipeline) -> dict[str, list[Any]]:
    tables = ("incidents", "consumer_lag", "disk_usage", "topic_disk_usage", "signals")
    order = {"incidents": ("first_sign_at", "kind"), "signals": ("at", "kind", "partitions")}
    return {name: pipeline.table(name).sort(*order.get(name, ("at",))).collect() for name in tables}


def seconds(at: datetime) -> float:
    return (at.replace(tzinfo=UTC) - START).total_seconds()
