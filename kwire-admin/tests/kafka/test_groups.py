"""Groups of every type on real Kafka: members, offsets, and lag, without joining."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import confluent_kafka
import pytest

from kwire.client import Connection
from kwire.client.admin import (
    EARLIEST,
    LATEST,
    AdminClient,
    AdminError,
    GroupDescription,
    GroupLag,
    GroupType,
    NewTopic,
    OffsetSpec,
    PartitionOffset,
    TopicPartition,
)
from kwire.messages.kafka.share_group_heartbeat import ShareGroupHeartbeatRequest
from kwire.messages.kafka.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from kwire_admin.compat import run_script
from tests.cli.administration import Operator
from tests.eventually import eventually, eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.declare import Request
    from tests.real_kafka import Kafka44, KafkaCluster

pytestmark = pytest.mark.change

ORDERS = [TopicPartition("group-orders", index) for index in range(2)]


@pytest.fixture
def orders(cluster: KafkaCluster) -> Iterator[Operator]:
    """Ten messages in each of two partitions, with times of 1970, which no retention may delete."""
    operator = Operator(cluster.bootstrap)
    operator.create_topic("group-orders", 2)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for index in range(2):
        for number in range(10):
            producer.produce("group-orders", str(number), partition=index, timestamp=1_000_000 + number)
    assert producer.flush(60) == 0
    yield operator
    operator.json("topics", "delete", "group-orders", "--yes")


def consumer(cluster: KafkaCluster, group: str, **settings: Any) -> confluent_kafka.Consumer:
    made = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": group, "auto.offset.reset": "earliest", **settings}
    )
    made.subscribe(["group-orders"])
    return made


def share_member(group: str, topic: str) -> ShareGroupHeartbeatRequest:
    """Return the request of a new member of a share group."""
    return ShareGroupHeartbeatRequest(
        group_id=group, member_id=str(uuid4()), member_epoch=0, subscribed_topic_names=(topic,)
    )


def streams_member(group: str, topic: str) -> StreamsGroupHeartbeatRequest:
    """Return the request of a new member of a streams group with one subtopology."""
    subtopology = Subtopology(
        subtopology_id="0",
        source_topics=(topic,),
        source_topic_regex=(),
        state_changelog_topics=(),
        repartition_sink_topics=(),
        repartition_source_topics=(),
        copartition_groups=(),
    )
    return StreamsGroupHeartbeatRequest(
        group_id=group,
        member_id=str(uuid4()),
        member_epoch=0,
        endpoint_information_epoch=0,
        rebalance_timeout_ms=60_000,
        topology=Topology(epoch=0, subtopologies=(subtopology,)),
        active_tasks=(),
        standby_tasks=(),
        warmup_tasks=(),
        process_id="p",
        client_tags=(),
    )


async def test_offsets_are_looked_up(cluster: KafkaCluster, orders: Operator) -> None:
    del orders
    first, second = ORDERS
    unknown = TopicPartition("group-orders", 7)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        found = await admin.list_offsets({first: EARLIEST, second: LATEST, unknown: LATEST})
        assert found[first] == PartitionOffset(0, None, 0) or found[first] == PartitionOffset(0, None, None)
        end = found[second]
        assert isinstance(end, PartitionOffset)
        assert end.offset == 10
        error = found[unknown]
        assert isinstance(error, AdminError)
        assert (error.code, error.item) == (3, "group-orders-7")
        at_time = await admin.list_offsets({first: OffsetSpec(1_000_004), second: OffsetSpec(2_000_000)})
        fourth, none = at_time[first], at_time[second]
        assert isinstance(fourth, PartitionOffset)
        assert (fourth.offset, fourth.timestamp_ms) == (4, 1_000_004)
        assert isinstance(none, PartitionOffset)
        assert none.offset is None

        assert await admin.delete_records({first: 3, second: -1}) == {first: 3, second: 10}
        refused = (await admin.delete_records({first: 99}))[first]
        assert isinstance(refused, AdminError)
        assert refused.name == "OFFSET_OUT_OF_RANGE"


def test_offsets_are_listed_and_records_deleted_by_the_command(orders: Operator) -> None:
    latest = orders.json("offsets", "list", "group-orders")
    assert [(row["topic"], row["partition"], row["offset"]) for row in latest] == [
        ("group-orders", 0, 10),
        ("group-orders", 1, 10),
    ]
    [at_time] = orders.json("offsets", "list", "group-orders:1", "--at", "1970-01-01T00:16:40.004Z")
    assert (at_time["offset"], at_time["timestamp_ms"], at_time["leader_epoch"]) == (4, 1_000_004, 0)
    [largest] = orders.json("offsets", "list", "group-orders:0", "--at", "max-timestamp")
    assert (largest["offset"], largest["timestamp_ms"]) == (9, 1_000_009)
    [unknown] = orders.json("offsets", "list", "group-orders:7", code=1)
    assert unknown["error"]["name"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert orders.run("offsets", "list", "group-orders", "--at", "7").code == 2

    deletion = ("offsets", "delete-records", "group-orders:0", "--before", "3")
    expected = {"topic": "group-orders", "partition": 0, "before": 0, "after": 3}
    assert orders.json(*deletion, "--dry-run") == [expected | {"status": "would be deleted"}]
    unconfirmed = orders.run(*deletion)
    assert (unconfirmed.code, "Delete up to 3 records of 1 partition? Confirm with --yes" in unconfirmed.err) == (
        2,
        True,
    )
    assert orders.json(*deletion, "--yes") == [expected | {"status": "deleted"}]
    again = orders.json("offsets", "delete-records", "group-orders:0", "--before", "1", "--yes")
    assert (again[0]["before"], again[0]["after"]) == (3, 3), "records that are gone stay gone"
    beyond = orders.run("offsets", "delete-records", "group-orders", "--before", "99", "--yes")
    assert (beyond.code, "offset 99 of group-orders-0 is after the end of the log at 10" in beyond.err) == (2, True)
    by_time = orders.json("offsets", "delete-records", "group-orders", "--before", "1970-01-01T00:16:40.008Z", "--yes")
    assert [row["after"] for row in by_time] == [8, 8]


async def test_offsets_of_a_share_group_are_altered_and_deleted(kafka44: Kafka44) -> None:
    first, second = ORDERS
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        (await admin.create_topics({"group-orders": NewTopic(partitions=2, replication_factor=1)})).raise_first()
        await admin.wait_until_created(["group-orders"])

        async def altered() -> Any:
            outcomes = await admin.alter_share_group_offsets("empty-share-group", {first: 0, second: 3})
            return dict(outcomes) == {"group-orders-0": None, "group-orders-1": None}

        await eventually(altered, "the coordinator knows the new topic")

        async def both() -> Any:
            found = (await admin.list_share_group_offsets(["empty-share-group"]))["empty-share-group"]
            return isinstance(found, dict) and set(found) == {first, second}

        await eventually(both, "the offsets are stored")
        unknown = await admin.alter_share_group_offsets("empty-share-group", {TopicPartition("nosuch", 0): 0})
        assert unknown.errors["nosuch-0"].name == "UNKNOWN_TOPIC_OR_PARTITION"
        command = Operator(kafka44.bootstrap)
        reset = ("groups", "reset-offsets", "empty-share-group", "--topic", "group-orders:1", "--to", "latest")
        assert command.json(*reset, "--yes")[0]["status"] == "reset"
        deletion = ("groups", "delete-offsets", "empty-share-group")
        by_partition = command.run(*deletion, "group-orders:1", "--yes")
        assert (by_partition.code, "its offsets are deleted for whole topics" in by_partition.err) == (2, True)
        assert command.json(*deletion, "group-orders", "--dry-run")[0]["status"] == "would be deleted"
        assert command.json(*deletion, "group-orders", "--yes")[0]["status"] == "deleted"
        gone = await admin.delete_share_group_offsets("empty-share-group", ["group-orders"])
        assert gone.errors["group-orders"].code
        with pytest.raises(AdminError, match="GROUP_ID_NOT_FOUND"):
            await admin.delete_share_group_offsets("nosuch", ["group-orders"])
        (await admin.delete_groups(["empty-share-group"])).raise_first()
        (await admin.delete_topics(["group-orders"])).raise_first()
        await admin.wait_until_deleted(["group-orders"])


async def test_classic_group_is_described_while_it_consumes(cluster: KafkaCluster, orders: Operator) -> None:
    member = consumer(cluster, "classic-group")
    try:
        eventually_sync(lambda: (found := member.poll(0.5)) and not found.error(), "the first message")
        async with await AdminClient.open(cluster.bootstrap) as admin:
            group = (await admin.describe_groups(["classic-group"]))["classic-group"]
            assert isinstance(group, GroupDescription)
            assert (group.type, group.state, group.coordinator) == (GroupType.CLASSIC, "Stable", 1)
            [only] = group.members
            assert only.assignment == {"group-orders": (0, 1)}
            refused = (await admin.delete_groups(["classic-group"])).errors["classic-group"]
            assert refused.name == "NON_EMPTY_GROUP"
        [described] = orders.json("groups", "describe", "classic-group")
        assert described["members"][0]["assignment"] == {"group-orders": [0, 1]}
        listed = orders.json("groups", "list", "classic-*")
        assert [(row["name"], row["type"]) for row in listed] == [("classic-group", "classic")]
    finally:
        member.close()


async def test_consumer_group_of_the_new_protocol_is_described(kafka44: Kafka44) -> None:
    async with await AdminClient.open(kafka44.bootstrap) as admin:
        (await admin.create_topics({"group-orders": NewTopic(partitions=2, replication_factor=1)})).raise_first()
        await admin.wait_until_created(["group-orders"])
        member = consumer(kafka44, "modern-group", **{"group.protocol": "consumer"})
        try:

            async def with_assignment() -> GroupDescription | None:
                member.poll(0.1)
                group = (await admin.describe_groups(["modern-group"]))["modern-group"]
                assigned = isinstance(group, GroupDescription) and any(member.assignment for member in group.members)
                return group if assigned and isinstance(group, GroupDescription) else None

            group: GroupDescription | None = await eventually(with_assignment, "the member has its assignment")
            assert group is not None
            assert group.type is GroupType.CONSUMER
            assert group.assignor == "uniform"
            assert group.epoch
            assert group.members[0].assignment == {"group-orders": (0, 1)}
        finally:
            member.close()
        (await admin.delete_topics(["group-orders"])).raise_first()


async def test_share_and_streams_groups_are_described(kafka44: Kafka44) -> None:
    async with (
        await AdminClient.open(kafka44.bootstrap) as admin,
        await Connection.open(kafka44.bootstrap) as connection,
    ):
        (await admin.create_topics({"group-orders": NewTopic(partitions=2, replication_factor=1)})).raise_first()
        await admin.wait_until_created(["group-orders"])
        share, streams = share_member("share-group", "group-orders"), streams_member("streams-group", "group-orders")
        await admin.list_group_offsets(["streams-group"])  # creates the topic of the coordinators
        requests: list[Request[Any]] = [share, streams]
        for heartbeat in requests:

            async def joined(request: Request[Any] = heartbeat) -> Any:
                response = await connection.send(request)
                return response.error_code == 0

            await eventually(joined, "the coordinator accepts the member")
        types = {group.group_id: group.type for group in await admin.list_groups()}
        assert (types["share-group"], types["streams-group"]) == (GroupType.SHARE, GroupType.STREAMS)
        described = await admin.describe_groups(["share-group", "streams-group", "nosuch"])
        for name in ("share-group", "streams-group"):
            group = described[name]
            assert isinstance(group, GroupDescription)
            assert len(group.members) == 1
        unknown = described["nosuch"]
        assert isinstance(unknown, AdminError)
        assert unknown.name == "GROUP_ID_NOT_FOUND"
        lags = await admin.group_lags(["share-group", "streams-group"])
        assert all(isinstance(lag, GroupLag) for lag in lags.values())

        first, second = ORDERS
        active = await admin.alter_group_offsets("streams-group", {first: 3})
        assert active.errors["group-orders-0"].name == "UNKNOWN_MEMBER_ID", "the group has a member"
        leave = StreamsGroupHeartbeatRequest(
            group_id="streams-group", member_id=streams.member_id, member_epoch=-1, endpoint_information_epoch=0
        )
        assert (await connection.send(leave)).error_code == 0
        (await admin.alter_group_offsets("streams-group", {first: 3, second: 4})).raise_first()
        committed = (await admin.list_group_offsets(["streams-group"]))["streams-group"]
        assert isinstance(committed, dict)
        assert {partition: committed_offset.offset for partition, committed_offset in committed.items()} == {
            first: 3,
            second: 4,
        }
        (await admin.delete_group_offsets("streams-group", [second])).raise_first()
        remaining = (await admin.list_group_offsets(["streams-group"]))["streams-group"]
        assert isinstance(remaining, dict)
        assert set(remaining) == {first}
        (await admin.delete_groups(["streams-group"])).raise_first()
        (await admin.delete_topics(["group-orders"])).raise_first()


def test_lag_reset_and_deletion_of_a_group_without_members(orders: Operator, tmp_path: Path) -> None:
    group = f"batch-{uuid4().hex[:6]}"
    unknown = orders.run("groups", "lag", group)
    assert unknown.code == 1
    assert "GROUP_ID_NOT_FOUND" in unknown.err

    reset = orders.json("groups", "reset-offsets", group, "--to", "4", "--topic", "group-orders:0", "--yes")
    assert [(row["partition"], row["before"], row["after"], row["status"]) for row in reset] == [(0, None, 4, "reset")]
    orders.json("groups", "reset-offsets", group, "--to", "earliest", "--topic", "group-orders:1", "--yes")
    by_partition = orders.json("groups", "lag", group, "--partitions")
    assert [(row["partition"], row["committed"], row["end"], row["lag"]) for row in by_partition] == [
        (0, 4, 10, 6),
        (1, 0, 10, 10),
    ]
    assert orders.json("groups", "lag", group)[0]["lag"] == 16
    assert orders.json("groups", "lag", group, "--total")[0] == {
        "name": group, "topic": None, "partition": None, "committed": None, "end": None, "lag": 16,
        "client": None, "host": None,
    }  # fmt: skip

    dry = orders.json("groups", "reset-offsets", group, "--to", "latest", "--dry-run")
    assert [(row["before"], row["after"], row["status"]) for row in dry] == [
        (4, 10, "would be reset"),
        (0, 10, "would be reset"),
    ]
    assert orders.json("groups", "lag", group, "--total")[0]["lag"] == 16, "a dry run changes nothing"
    by_time = orders.json("groups", "reset-offsets", group, "--to", "1970-01-01T00:16:40.007+00:00", "--yes")
    assert {row["after"] for row in by_time} == {7}

    shifted = orders.json("groups", "reset-offsets", group, "--shift-by", "-3", "--yes")
    assert [(row["before"], row["after"], row["difference"]) for row in shifted] == [(7, 4, -3), (7, 4, -3)]
    far = orders.json("groups", "reset-offsets", group, "--shift-by", "1000", "--dry-run")
    assert [(row["after"], row["difference"]) for row in far] == [(10, 6), (10, 6)]
    file = tmp_path / "offsets.csv"
    current = orders.json("groups", "reset-offsets", group, "--to", "current", "--export", file, "--dry-run")
    assert {row["status"] for row in current} == {"unchanged"}
    assert file.read_text(encoding="utf-8") == "group-orders,0,4\ngroup-orders,1,4\n"
    long_ago = orders.json("groups", "reset-offsets", group, "--by-duration", "P1D", "--yes")
    assert {row["after"] for row in long_ago} == {10}, "all messages are older"
    restored = orders.json("groups", "reset-offsets", group, "--from-file", file, "--yes")
    assert [(row["before"], row["after"], row["difference"]) for row in restored] == [(10, 4, -6), (10, 4, -6)]
    script = ["--bootstrap-server", orders.bootstrap, "--reset-offsets", "--group", group, "--dry-run", "--from-file"]
    assert run_script("kafka-consumer-groups", [*script, str(file)]) == 0
    new = orders.run("groups", "reset-offsets", "no-such-group", "--shift-by", "1", "--topic", "group-orders", "--yes")
    assert (new.code, "group-orders-0 has no committed offset to shift" in new.err) == (2, True)

    beyond = orders.run("groups", "reset-offsets", group, "--to", "99", "--yes")
    assert beyond.code == 2
    assert "offset 99 of group-orders-0 is after the end of the log at 10" in beyond.err

    deletion = ("groups", "delete-offsets", group)
    assert orders.json(*deletion, "group-orders:0", "--dry-run")[0]["status"] == "would be deleted"
    assert orders.json(*deletion, "group-orders:0", "--yes")[0]["name"] == "group-orders-0"
    assert [row["name"] for row in orders.json(*deletion, "group-orders", "--yes")] == ["group-orders-1"]
    nothing = orders.run(*deletion, "group-orders", "--yes")
    assert nothing.code == 2
    assert orders.json("groups", "reset-offsets", group, "--to", "4", "--topic", "group-orders:0", "--yes")
    assert orders.json("groups", "delete", group, "--yes")[0]["status"] == "deleted"
    assert orders.run("groups", "delete", group, "--yes").code == 1


def test_group_without_members_is_shown_and_hostile_names_are_escaped(orders: Operator) -> None:
    hostile = "evil\x1b]0;pwned\x07"
    reset = ("groups", "reset-offsets", hostile, "--to", "0", "--topic", "group-orders:0", "--yes")
    assert orders.run(*reset).code == 0
    for command in (("groups", "list"), ("groups", "describe", hostile), ("groups", "lag", hostile)):
        run = orders.run(*command)
        assert (run.code, r"evil\x1b]0;pwned\x07" in run.out, "\x1b" in run.out) == (0, True, False), command
    unknown = orders.run("groups", "describe", f"{hostile}er")
    assert (unknown.code, "\x1b" in unknown.err) == (1, False)
    orders.json("groups", "delete", hostile, "--yes")


def test_config_of_brokers_that_no_broker_reports_needs_force(orders: Operator) -> None:
    change = ("configs", "set", "broker/default", "my.plugin.size=1")
    refused = orders.run(*change)
    assert (refused.code, "brokers report no config 'my.plugin.size'" in refused.err) == (2, True)
    assert orders.json(*change, "--force")[0]["shadowed_by"] == []
    assert orders.json("configs", "delete", "broker/default", "my.plugin.size", "--yes")[0]["status"] == "deleted"
