"""Every error code of the protocol, in the response of a real node over a real socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire import frame
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest,
    TopicPartitions,
)
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas, TopicReassignment
from kwire.messages.kip584.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.cluster.node.nodes import new_root, nodes, send

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    Case = Callable[[Node, Node], Awaitable[int]]

TESTED_ELSEWHERE = {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.FEATURE_UPDATE_FAILED,
    ErrorCode.FEATURE_UPDATE_IN_PROGRESS,
}
"""Codes of UpdateFeatures (`test_finalized_features`) and of missing permissions (`test_permissions`)."""


def creation(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreateTopicRequest_V2:
    entries = tuple(ConfigEntry(config_key=key, config_value=value) for key, value in configs.items())
    return CreateTopicRequest_V2(
        topics=(
            TopicCreation(
                topic_name=name,
                partitions=partitions,
                replication_factor=factor,
                replica_assignment=(),
                config_entries=entries,
            ),
        )
    )


def alteration(name: str, **changes: Any) -> TopicAlteration:
    unset: dict[str, Any] = {
        "partitions": -1,
        "replication_factor": -1,
        "replica_assignment": (),
        "added_config_entries": (),
        "deleted_configs": (),
    }
    return TopicAlteration(topic_name=name, **{**unset, **changes})


def move(name: str, *replicas: int) -> ReassignPartitionsRequest:
    to = (PartitionReplicas(partition_id=0, replica_ids=replicas),)
    return ReassignPartitionsRequest(topics=(TopicReassignment(topic=name, partitions=to),))


def election(name: str, *partitions: int) -> PreferredReplicaLeaderElectionRequest:
    return PreferredReplicaLeaderElectionRequest(topics=(TopicPartitions(topic=name, partition_ids=partitions),))


async def first_code(node: Node, *requests: Any) -> int:
    """Send requests at once, and return the code of the last response."""
    response = await send(node, *requests)
    code: int = response.topics[0].error_code
    return code


async def code(node: Node, request: Any) -> int:
    response = await send(node, request)
    assert isinstance(response.error_code, int)
    return response.error_code


async def unknown_version(node: Node) -> int:
    request = bytearray(frame.encode_request(ApiVersionsRequest(), version=0, correlation_id=5, client_id="tests"))
    request[6:8] = (99).to_bytes(2, "big")
    reader, writer = await asyncio.open_connection(node.host, node.port)
    try:
        writer.write(request)
        response = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    finally:
        writer.close()
    assert response[:4] == (5).to_bytes(4, "big")
    decoded = kwire.decode(ApiVersionsResponse, response[4:], version=0)
    assert [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in decoded.api_keys] == [(18, 0, 3)]
    return decoded.error_code


def two_changes(name: str) -> AlterTopicRequest_V2:
    return AlterTopicRequest_V2(topics=(alteration(name, partitions=2, deleted_configs=("retention.ms",)),))


EXISTING = "existing"
"""A topic with one partition and one replica."""

CASES: dict[ErrorCode, Case] = {
    ErrorCode.NO_ERROR: lambda controller, _: first_code(controller, creation("new")),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: lambda controller, _: first_code(
        controller, DeleteTopicRequest_V2(topic_names=("nosuch",))
    ),
    ErrorCode.STALE_CONTROLLER_EPOCH: lambda _, other: code(
        other, UpdateMetadataRequest(controller_id=1, controller_epoch=0, topic_states=(), live_brokers=())
    ),
    ErrorCode.ADMIN_REQUEST_FAILED: lambda _, other: code(other, AdminRequest(tool="rm", arguments=("-r", "/"))),
    ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST: lambda _, other: first_code(other, creation("new")),
    ErrorCode.UNSUPPORTED_VERSION: lambda _, other: unknown_version(other),
    ErrorCode.TOPIC_ALREADY_EXISTS: lambda controller, _: first_code(controller, creation(EXISTING)),
    ErrorCode.INVALID_ARGUMENT_PARTITIONS: lambda controller, _: first_code(controller, creation("new", -1, -1)),
    ErrorCode.DECREASE_PARTITIONS_NOT_ALLOWED: lambda controller, _: first_code(
        controller, AlterTopicRequest_V2(topics=(alteration(EXISTING, partitions=0),))
    ),
    ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR: lambda controller, _: first_code(controller, creation("new", 1, 3)),
    ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT: lambda controller, _: first_code(controller, move(EXISTING, 9)),
    ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG: lambda controller, _: first_code(
        controller, creation("new", colour="red")
    ),
    ErrorCode.PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS: lambda controller, _: first_code(
        controller, election(EXISTING), election(EXISTING)
    ),
    ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA: lambda controller, _: first_code(
        controller, election(EXISTING, 0, 0)
    ),
    ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS: lambda controller, _: first_code(
        controller, move(EXISTING, 1, 2), move(EXISTING, 2, 1)
    ),
    ErrorCode.INVALID_ARGUMENT_TOPIC_NAME: lambda controller, _: first_code(controller, creation("no name")),
    ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC: lambda controller, _: first_code(controller, two_changes(EXISTING)),
    ErrorCode.MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH: lambda controller, _: first_code(
        controller, DeleteTopicRequest_V2(topic_names=(EXISTING, EXISTING))
    ),
}


def test_every_code_has_a_case() -> None:
    assert set(CASES) | TESTED_ELSEWHERE == set(ErrorCode)
    assert not set(CASES) & TESTED_ELSEWHERE


@pytest.mark.parametrize("expected", CASES, ids=lambda code: f"{code:d}")
async def test_node_responds_with_code(expected: ErrorCode, server: EmbeddedZooKeeper) -> None:
    strict = expected is ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC
    async with nodes(await new_root(server), 1, 2, strict_batches=strict) as (controller, other):
        assert await first_code(controller, creation(EXISTING)) == ErrorCode.NO_ERROR
        assert await CASES[expected](controller, other) == expected


async def test_full_queue_responds_with_21(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, queued_requests=1) as [node]:
        many = [creation(f"topic-{number}") for number in range(20)]
        assert await first_code(node, *many) == ErrorCode.ADMIN_REQUEST_FAILED
