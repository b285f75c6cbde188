"""Lag of groups whose members have committed nothing, or some partitions, or are not visible."""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

import kwire
from kwire.client.admin import AdminClient, AdminError, GroupLag, TopicPartition
from kwire.messages.kafka.consumer_protocol_assignment import ConsumerProtocolAssignment
from kwire.messages.kafka.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from kwire.messages.kafka.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kafka.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from kwire.declare import Message

END = 100


class Coordinator1:
    """A broker with a topic and a classic group.

    Args:
        committed: the committed offsets by partition.
        assigned: the partitions by member.
        leaderless: the partitions without a leader.
        refused: the groups that the user cannot describe.
    """

    def __init__(
        self,
        committed: Mapping[int, int],
        assigned: Mapping[str, tuple[int, ...]],
        *,
        leaderless: tuple[int, ...] = (),
        refused: tuple[str, ...] = (),
        description_error: int = 0,
    ) -> None:
        self.committed, self.assigned, self.leaderless, self.refused = committed, assigned, leaderless, refused
        self.description_error = description_error
        self.broker: ScriptedBroker | None = None

    def respond(self, request: Any) -> Message:
        match request:
            case MetadataRequest():
                return self.metadata()
            case ListGroupsRequest():
                group = ListedGroup(
                    group_id="billing", protocol_type="consumer", group_state="Stable", group_type="classic"
                )
                return ListGroupsResponse(error_code=0, groups=(group,))
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(
                    coordinators=tuple(
                        Coordinator(
                            key=key, node_id=1, host="127.0.0.1", port=self.port, error_code=0, error_message=None
                        )
                        for key in request.coordinator_keys
                    )
                )
            case DescribeGroupsRequest():
                return DescribeGroupsResponse(groups=tuple(map(self.described, request.groups)))
            case OffsetFetchRequest():
                return self.offsets()
            case ListOffsetsRequest():
                return self.ends(request)
        raise AssertionError(f"unexpected {request}")

    @property
    def port(self) -> int:
        assert self.broker is not None
        return self.broker.port

    def metadata(self) -> MetadataResponse:
        partitions = tuple(
            MetadataResponsePartition(
                error_code=5 if index in self.leaderless else 0,
                partition_index=index,
                leader_id=-1 if index in self.leaderless else 1,
                leader_epoch=0,
                replica_nodes=(1,),
                isr_nodes=(1,),
                offline_replicas=(),
            )
            for index in range(8)
        )
        topic = MetadataResponseTopic(
            error_code=0, name="orders", topic_id=UUID(int=1), is_internal=False, partitions=partitions
        )
        broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port, rack=None)
        return MetadataResponse(brokers=(broker,), cluster_id="scripted", controller_id=1, topics=(topic,))

    def described(self, group: str) -> DescribedGroup:
        code = int(ErrorCode.GROUP_AUTHORIZATION_FAILED) if group in self.refused else 0
        return DescribedGroup(
            error_code=code or self.description_error,
            group_id=group,
            group_state="Stable",
            protocol_type="consumer",
            protocol_data="range",
            members=tuple(
                DescribedGroupMember(
                    member_id=name,
                    group_instance_id=None,
                    client_id=f"client of {name}",
                    client_host="/10.0.0.1",
                    member_metadata=b"",
                    member_assignment=assignment(indexes),
                )
                for name, indexes in self.assigned.items()
                if not code
            ),
        )

    def offsets(self) -> OffsetFetchResponse:
        partitions = tuple(
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=offset, committed_leader_epoch=-1, metadata="", error_code=0
            )
            for index, offset in self.committed.items()
        )
        topics = (OffsetFetchResponseTopics(name="orders", partitions=partitions),) if partitions else ()
        return OffsetFetchResponse(groups=(OffsetFetchResponseGroup(group_id="billing", topics=topics, error_code=0),))

    @staticmethod
    def ends(request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=tuple(
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=tuple(
                        ListOffsetsPartitionResponse(
                            partition_index=partition.partition_index,
                            error_code=0,
                            timestamp=-1,
                            offset=END,
                            leader_epoch=0,
                        )
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )


def assignment(indexes: tuple[int, ...]) -> bytes:
    partitions = (AssignedPartitions(topic="orders", partitions=indexes),) if indexes else ()
    value = ConsumerProtocolAssignment(assigned_partitions=partitions, user_data=None)
    return b"\0\3" + kwire.encode(value, version=3)


@asynccontextmanager
async def admin_of(coordinator: Coordinator1) -> AsyncIterator[AdminClient]:
    async with (
        scripted_broker("kafka", coordinator.respond) as coordinator.broker,
        await AdminClient.open(f"127.0.0.1:{coordinator.port}", timeout=5) as admin,
    ):
        yield admin


@pytest.mark.parametrize("seed", range(20))
async def test_rows_are_commits_and_assignments_together(seed: int) -> None:
    choose = random.Random(seed)
    committed = {index: choose.randrange(END) for index in choose.sample(range(8), choose.randrange(8))}
    owners = {index: choose.choice(["a", "b", "idle"]) for index in choose.sample(range(8), choose.randrange(9))}
    assigned = {name: tuple(index for index, owner in owners.items() if owner == name) for name in ("a", "b")}
    owners = {index: owner for index, owner in owners.items() if owner != "idle"}
    async with admin_of(Coordinator1(committed, {**assigned, "idle": ()})) as admin:
        group = (await admin.group_lags(["billing"]))["billing"]
    assert isinstance(group, GroupLag)
    assert [(partition.partition, partition.committed, partition.lag) for partition in group.partitions] == [
        (index, committed.get(index), END - committed[index] if index in committed else None)
        for index in sorted(committed.keys() | owners.keys())
    ]
    named = {p.partition: p.member.member_id for p in group.partitions if p.member is not None}
    assert named == owners
    assert group.total == (
        sum(END - offset for offset in committed.values()) if owners.keys() <= committed.keys() else None
    )


async def test_refused_description_does_not_hide_the_offsets() -> None:
    """A user may see the offsets of a group, and not a topic of its members (KAFKA-18813)."""
    refused = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    async with admin_of(Coordinator1({0: 40}, {"a": (0, 1)}, description_error=refused)) as admin:
        group = (await admin.group_lags(["billing"]))["billing"]
    assert isinstance(group, GroupLag)
    assert [partition.lag for partition in group.partitions] == [END - 40]
    assert group.error is not None
    assert group.error.needs == "Describe on the topic"


async def test_group_that_no_list_has_is_forbidden_or_unknown() -> None:
    """A list lacks both; only the user who may describe a group learns that it does not exist."""
    coordinator = Coordinator1({}, {}, refused=("secret",))
    async with admin_of(coordinator) as admin:
        for answers in (await admin.describe_groups(["secret", "none"]), await admin.group_lags(["secret", "none"])):
            secret, none = answers["secret"], answers["none"]
            assert isinstance(secret, AdminError)
            assert isinstance(none, AdminError)
            assert (secret.code, none.code) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_ID_NOT_FOUND)
            assert secret.reason == "Group authorization failed: this needs Describe on the group"
        assert await admin.may_describe_group("none")
        assert not await admin.may_describe_group("secret")


async def test_group_that_no_broker_coordinates_may_exist() -> None:
    """The user cannot describe the internal topic, so the brokers are asked for the group."""
    moved = int(ErrorCode.NOT_COORDINATOR)
    async with admin_of(Coordinator1({}, {}, description_error=moved)) as admin:
        unknown = (await admin.describe_groups(["none"]))["none"]
    assert isinstance(unknown, AdminError)
    assert unknown.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert unknown.reason == "no broker that answers coordinates the group, so it is not known whether it exists"


async def test_partition_without_a_leader_has_a_row() -> None:
    async with admin_of(Coordinator1({0: 40, 1: 50}, {}, leaderless=(1,))) as admin:
        admin.router.metadata.clock = iter(range(0, 1000, 10)).__next__  # the election is not waited for
        group = (await admin.group_lags(["billing"]))["billing"]
    assert isinstance(group, GroupLag)
    assert [(p.committed, p.lag, p.error is None) for p in group.partitions] == [(40, 60, True), (50, None, False)]
    assert TopicPartition("orders", 1) == group.partitions[1][:2]
