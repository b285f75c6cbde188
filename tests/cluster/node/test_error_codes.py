"""Every error code of the protocol, as the answer of a real node to a request over a real socket."""

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
from tests.cluster.node.nodes import ask, new_root, nodes, run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.cluster.node.node import Node
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    Case = Callable[[Node, Node], Awaitable[int]]

OF_UPDATE_FEATURES = {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.FEATURE_UPDATE_FAILED,
    ErrorCode.FEATURE_UPDATE_IN_PROGRESS,
}
"""Answers to UpdateFeatures only, which no node serves yet."""


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
    """Of requests that are sent at once, the last one's."""
    answer = await ask(node, *requests)
    code: int = answer.topics[0].error_code
    return code


async def code(node: Node, request: Any) -> int:
    answer = await ask(node, request)
    assert isinstance(answer.error_code, int)
    return answer.error_code


async def unknown_version(node: Node) -> int:
    asked = bytearray(frame.encode_request(ApiVersionsRequest(), version=0, correlation_id=5, client_id="tests"))
    asked[6:8] = (99).to_bytes(2, "big")
    reader, writer = await asyncio.open_connection(node.host, node.port)
    try:
        writer.write(asked)
        answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    finally:
        writer.close()
    assert answer[:4] == (5).to_bytes(4, "big")
    told = kwire.decode(ApiVersionsResponse, answer[4:], version=0)
    assert [(each.api_key, each.min_version, each.max_version) for each in told.api_keys] == [(18, 0, 3)]
    return told.error_code


def two_ways(name: str) -> AlterTopicRequest_V2:
    return AlterTopicRequest_V2(topics=(alteration(name, partitions=2, deleted_configs=("retention.ms",)),))


THERE = "there"
"""A topic of one partition, on either node."""

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
    ErrorCode.TOPIC_ALREADY_EXISTS: lambda controller, _: first_code(controller, creation(THERE)),
    ErrorCode.INVALID_ARGUMENT_PARTITIONS: lambda controller, _: first_code(controller, creation("new", -1, -1)),
    ErrorCode.DECREASE_PARTITIONS_NOT_ALLOWED: lambda controller, _: first_code(
        controller, AlterTopicRequest_V2(topics=(alteration(THERE, partitions=0),))
    ),
    ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR: lambda controller, _: first_code(controller, creation("new", 1, 3)),
    ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT: lambda controller, _: first_code(controller, move(THERE, 9)),
    ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG: lambda controller, _: first_code(
        controller, creation("new", colour="red")
    ),
    ErrorCode.PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS: lambda controller, _: first_code(
        controller, election(THERE), election(THERE)
    ),
    ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA: lambda controller, _: first_code(
        controller, election(THERE, 0, 0)
    ),
    ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS: lambda controller, _: first_code(
        controller, move(THERE, 1, 2), move(THERE, 2, 1)
    ),
    ErrorCode.INVALID_ARGUMENT_TOPIC_NAME: lambda controller, _: first_code(controller, creation("no name")),
    ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC: lambda controller, _: first_code(controller, two_ways(THERE)),
    ErrorCode.MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH: lambda controller, _: first_code(
        controller, DeleteTopicRequest_V2(topic_names=(THERE, THERE))
    ),
}


def test_the_table_is_complete() -> None:
    assert set(CASES) | OF_UPDATE_FEATURES == set(ErrorCode)
    assert not set(CASES) & OF_UPDATE_FEATURES


@pytest.mark.parametrize("expected", CASES, ids=lambda code: f"{code:d}")
def test_every_code_is_the_answer_to_something(expected: ErrorCode, server: EmbeddedZooKeeper) -> None:
    strict = expected is ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC

    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2, strict_batches=strict) as (controller, other):
            assert await first_code(controller, creation(THERE)) == ErrorCode.NO_ERROR
            assert await CASES[expected](controller, other) == expected

    run(scene())


def test_a_queue_that_is_full_answers_at_once_with_21(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, queued_requests=1) as [node]:
            many = [creation(f"topic-{number}") for number in range(20)]
            assert await first_code(node, *many) == ErrorCode.ADMIN_REQUEST_FAILED

    run(scene())
