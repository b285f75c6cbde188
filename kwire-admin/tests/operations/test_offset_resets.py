"""Resets of committed offsets: what each target plans, and the CSV file of the plan."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, AdminError, CommittedOffset, OffsetSpec, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.testing import FakeCluster
from kwire_admin.operations.offset_resets import (
    CommittedTarget,
    NoCommittedOffset,
    OffsetShift,
    PlannedOffset,
    format_offsets,
    parse_duration,
    plan_offsets,
    read_offsets,
    time_before,
)
from kwire_admin.operations.parameters import InvalidArgument, check_arguments
from kwire_admin.operations.verbs.groups.reset_offsets import reset_offsets
from tests.cli.running import kwire
from tests.client.admin.scripted_broker import scripted_broker
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.declare import Message
    from kwire_admin.operations.offset_resets import ResetTarget

START, END = 20, 120
"""The log of every partition; offset 70 has the time 70_000."""
ORDERS = TopicPartition("orders", 0)
AUDIT = TopicPartition("audit", 0)
BROKEN = TopicPartition("orders", 1)
COMMITTED = {ORDERS: CommittedOffset(30, None, "")}


def offset_at(timestamp: int) -> int:
    if timestamp < 0:
        return {-2: START, -1: END}[timestamp]
    return timestamp // 1000 if timestamp <= 70_000 else -1


async def plan_of(target: ResetTarget, *partitions: TopicPartition) -> dict[TopicPartition, Any]:
    """Return the plan for a broker that leads two topics with the log above."""

    def respond(request: Any) -> Message:
        if isinstance(request, ListOffsetsRequest):
            topics = tuple(
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=tuple(
                        ListOffsetsPartitionResponse(
                            partition_index=partition.partition_index,
                            error_code=partition.partition_index and ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                            offset=offset_at(partition.timestamp),
                        )
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
            return ListOffsetsResponse(topics=topics)
        broker_row = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=broker.port)
        rows = tuple(
            MetadataResponseTopic(
                error_code=0,
                name=name,
                partitions=tuple(
                    MetadataResponsePartition(
                        error_code=0, partition_index=index, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
                    )
                    for index in range(2)
                ),
            )
            for name in ("orders", "audit")
        )
        return MetadataResponse(brokers=(broker_row,), controller_id=1, topics=rows)

    async with (
        scripted_broker("kafka", respond) as broker,
        await AdminClient.open(f"127.0.0.1:{broker.port}") as admin,
    ):
        return await plan_offsets(admin, COMMITTED, partitions, target)


@pytest.mark.parametrize(
    ("target", "requested", "after", "after_without_commit"),
    [
        (OffsetSpec(-2), START, START, START),
        (OffsetSpec(-1), END, END, END),
        (OffsetSpec(45_000), 45, 45, 45),
        (OffsetSpec(90_000), END, END, END),
        (50, 50, 50, 50),
        (7, 7, START, START),
        (900, 900, END, END),
        (CommittedTarget.CURRENT, 30, 30, END),
    ],
    ids=["earliest", "latest", "time", "later_time", "offset", "before_start", "after_end", "current"],
)
async def test_target(target: ResetTarget, requested: int, after: int, after_without_commit: int) -> None:
    plan = await plan_of(target, ORDERS, AUDIT)
    assert plan[ORDERS] == PlannedOffset(30, requested, after, START, END, is_beyond=target == OffsetSpec(90_000))
    assert (plan[AUDIT].before, plan[AUDIT].after) == (None, after_without_commit)


@pytest.mark.parametrize(("by", "after"), [(5, 35), (-5, 25), (-11, START), (1000, END), (0, 30)])
async def test_shift_stops_at_the_ends_of_the_log(by: int, after: int) -> None:
    assert (await plan_of(OffsetShift(by), ORDERS))[ORDERS].after == after


async def test_partition_without_a_committed_offset_cannot_be_shifted() -> None:
    with pytest.raises(NoCommittedOffset, match="audit-0 has no committed offset to shift") as raised:
        await plan_of(OffsetShift(1), ORDERS, AUDIT)
    assert raised.value.partition == AUDIT


async def test_each_partition_has_the_offset_of_a_mapping_or_its_own_error() -> None:
    plan = await plan_of({ORDERS: 33, AUDIT: 44, BROKEN: 55}, ORDERS, AUDIT, BROKEN)
    assert [plan[ORDERS].after, plan[AUDIT].after] == [33, 44]
    assert isinstance(plan[BROKEN], AdminError)
    assert plan[BROKEN].name == "TOPIC_AUTHORIZATION_FAILED"


def test_committed_offset_below_the_log_is_kept_and_not_moved() -> None:
    assert PlannedOffset.of(CommittedTarget.CURRENT, 3, 3, START, END).after == 3


@for_rows(
    "text, seconds",
    [("PT30M", 1800), ("P1DT12H", 129_600), ("PT1.5S", 1.5), ("P2D", 172_800), ("PT0S", 0)],
)
def test_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@for_rows("text", ["", "P", "PT", "P1DT", "30m", "-PT1H", "P1Y", "PT1H30", "P٣D", "P9999999999D"])
def test_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"is not a duration: write PnDTnHnMnS|is longer than"):
        parse_duration(text)


def test_duration_ends_in_1970_at_the_earliest() -> None:
    now = datetime(2026, 11, 24, 3, 0, tzinfo=UTC)
    assert time_before(timedelta(hours=1), now) == OffsetSpec(int(now.timestamp() * 1000) - 3_600_000)
    assert time_before(timedelta(days=99_999), now) == OffsetSpec(0)


def test_written_offsets_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    offsets = {ORDERS: 5, TopicPartition('a,"b"', 12): 0}
    file.write_text(format_offsets(offsets), encoding="utf-8")
    assert read_offsets(file, "billing") == offsets


def test_export_of_several_groups_is_read_for_one(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("billing,orders,0,5\naudit,orders,0,9\n\naudit,orders,1,3\n", encoding="utf-8")
    assert read_offsets(file, "billing") == {ORDERS: 5}
    assert read_offsets(file, "audit") == {ORDERS: 9, BROKEN: 3}
    assert read_offsets(file, "other") == {}


@for_rows("encoding", ["utf-8-sig", "utf-16"])
def test_file_from_windows_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "offsets.csv"
    file.write_bytes("orders,0,5\r\n".encode(encoding))
    assert read_offsets(file, "billing") == {ORDERS: 5}


@for_rows(
    "content, reason",
    [
        (b"orders,0\n", "line 1 of .*: expected topic,partition,offset, found orders,0"),
        (b"orders,0,1\norders,x,2\n", "line 2 of .*: expected topic,partition,offset"),
        (b"orders,0,-1\n", "expected topic,partition,offset"),
        (b",0,1\n", "expected topic,partition,offset"),
        (b"orders,0,1\norders,0,2\n", "line 2 of .*: orders-0 has two offsets"),
        (b'"orders,0,1\n', "is not a CSV file"),
        (b"\xff", "offsets.csv: expected a text in UTF-8"),
        (None, "cannot read .*: No such file"),
    ],
)
def test_invalid_file_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    file = tmp_path / "offsets.csv"
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidArgument, match=reason):
        read_offsets(file, "billing")


@for_rows(
    "values, reason",
    [
        ({}, "give one of --to, --shift-by, --by-duration, and --from-file"),
        ({"to": "latest", "shift_by": 1}, "give only one of"),
        ({"by_duration": "1h"}, "is not a duration"),
        ({"to": "now"}, "is not a position"),
    ],
)
def test_verb_needs_exactly_one_target(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        _begin_reset(group="billing", **values)


def _begin_reset(**values: Any) -> None:
    """Run the verb until it sends something. The target is checked before that, so it needs no cluster."""
    defaults = {parameter.name: parameter.default for parameter in reset_offsets.parameters}
    check_arguments(reset_offsets.parameters, reset_offsets.choices, defaults | values)
    reset_offsets(None, **values).send(None)


def test_file_with_an_unknown_partition_changes_nothing_and_a_late_time_warns(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("orders,0,5\norders,7,6\n", encoding="utf-8")
    script = ["--reset-offsets", "--group", "billing", "--topic", "orders", "--to-datetime", "2099-01-01T00:00:00.000"]
    with FakeCluster(1, topics=["orders"], partitions=1) as fake:
        fake.set_ends("orders", {0: 10})
        fake.set_group("billing", {"orders": {0: 1}})
        done = kwire("-b", fake.bootstrap, "groups", "reset-offsets", "billing", "--from-file", file, "--yes")
        assert (done.code, "nothing was changed" in done.err) == (1, True), done.err
        time = ("--to", "2099-01-01T00:00Z", "--dry-run")
        late = kwire("-b", fake.bootstrap, "groups", "reset-offsets", "billing", *time)
        assert (late.code, "orders-0 has no message at this time or later" in late.err) == (0, True), late.err
        program = [sys.executable, "-m", "kwire_admin.compat", "kafka-consumer-groups"]
        words = [*program, "--bootstrap-server", fake.bootstrap, *script, "--dry-run"]
        done_by_script = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert "Warn: Partition 0 from topic orders is empty. Falling back to latest known" in done_by_script.stdout
