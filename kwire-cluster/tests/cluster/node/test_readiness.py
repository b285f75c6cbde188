"""A node without the metadata of its cluster does not answer as if the cluster were empty."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from kwire import frame
from kwire.messages.kafka.envelope import EnvelopeRequest
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.describe_topic import DescribeTopicRequest
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire.messages.kip4.preferred_replica_leader_election import PreferredReplicaLeaderElectionRequest, TopicPartitions
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip4.structures import TopicReassignment
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from kwire.messages.kip584.update_features import UpdateFeaturesRequest
from kwire.protocol.client_connection import response_class
from kwire_cluster.controller.controller import Controller
from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient, InvalidRequest
from kwire_cluster.node.metrics import Metrics
from kwire_cluster.node.node import Node
from kwire_cluster.node.process import run_node
from kwire_cluster.node.requests.apis import served_requests
from kwire_cluster.node.requests.request_dispatcher import RequestDispatcher
from tests.cluster.memory_store import MemoryZooKeeper
from tests.cluster.node.handling import node_services
from tests.cluster.node.nodes import knows_cluster, new_root, node_tools, nodes, send, session, settings
from tests.cluster.node.requests.test_error_codes import alteration, creation
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from kwire.declare import Message
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

TOPIC = "existing"
CLOSED, ANSWERED = "closed", 0
MOVE = TopicReassignment(topic=TOPIC, partitions=())

EXPECTED: dict[type[Message], list[tuple[Any, object]]] = {
    AdminRequest: [(AdminRequest(tool="help", arguments=()), ANSWERED)],
    AlterTopicRequest: [(AlterTopicRequest(topic_name=TOPIC), 22)],
    AlterTopicRequest_V2: [(AlterTopicRequest_V2(topics=(alteration(TOPIC, partitions=2),)), 22)],
    ApiVersionsRequest: [(ApiVersionsRequest(), ANSWERED)],
    ClusterMetadataRequest: [(ClusterMetadataRequest(), CLOSED)],
    CreateTopicRequest: [(CreateTopicRequest(topic_name=TOPIC, partitions=1, replicas=1), 22)],
    CreateTopicRequest_V2: [(creation(TOPIC), 22)],
    DeleteTopicRequest: [(DeleteTopicRequest(topic_name=TOPIC), 22)],
    DeleteTopicRequest_V2: [(DeleteTopicRequest_V2(topic_names=(TOPIC,)), 22)],
    DescribeTopicRequest: [(DescribeTopicRequest(topic_name=TOPIC), 22)],
    EnvelopeRequest: [
        (
            EnvelopeRequest(
                request_data=frame.encode_request(ClusterMetadataRequest(), version=0, correlation_id=1)[4:],
                request_principal=b"User:alice",
                client_host_address=bytes(4),
            ),
            42,
        )
    ],
    ListTopicsRequest: [(ListTopicsRequest(), 22)],
    PreferredReplicaLeaderElectionRequest: [
        (PreferredReplicaLeaderElectionRequest(topics=()), 22),
        (PreferredReplicaLeaderElectionRequest(topics=(TopicPartitions(topic=TOPIC, partition_ids=()),)), 22),
    ],
    ReassignPartitionsRequest: [(ReassignPartitionsRequest(topics=(MOVE,)), 22)],
    SaslAuthenticateRequest: [(SaslAuthenticateRequest(auth_bytes=b""), 34)],
    SaslHandshakeRequest: [(SaslHandshakeRequest(mechanism="PLAIN"), 34)],
    TopicMetadataRequest: [
        (TopicMetadataRequest(topic_names=()), CLOSED),
        (TopicMetadataRequest(topic_names=(TOPIC,)), CLOSED),
    ],
    TopicMetadataRequest_V1: [
        (TopicMetadataRequest_V1(topic_names=()), CLOSED),
        (TopicMetadataRequest_V1(topic_names=(TOPIC,)), CLOSED),
        (TopicMetadataRequest_V1(topic_names=tuple(f"{TOPIC}-{at}" for at in range(1000))), CLOSED),
    ],
    UpdateFeaturesRequest: [(UpdateFeaturesRequest(timeout_ms=1000, feature_updates=()), 41)],
    VerifyReassignPartitionsRequest: [
        (VerifyReassignPartitionsRequest(topics=()), 22),
        (VerifyReassignPartitionsRequest(topics=(MOVE,)), 22),
    ],
}
"""Responses of a node that has neither the metadata nor the office of the controller, by request."""


async def answer(dispatcher: RequestDispatcher, request: Message, version: int) -> object:
    """Return the first error code of the response, or CLOSED."""
    payload = frame.encode_request(request, version=version, correlation_id=7, client_id="tests")[4:]
    try:
        response = dispatcher.dispatch(payload, ConnectedClient("?"))
        parts = response if isinstance(response, bytes | tuple) else await response
    except InvalidRequest as refusal:
        return CLOSED if refusal.reason is CloseReason.NOT_READY else refusal
    received = parts if isinstance(parts, bytes) else b"".join(parts)
    decoded = frame.decode_response(received[4:], response_class(cast("Any", type(request))), version=version)
    message: Any = decoded.message
    [code] = [answer.error_code for answer in (getattr(message, "topics", None) or [message])[:1]]
    return code


async def test_every_api_refuses_what_needs_unknown_metadata() -> None:
    assert set(EXPECTED) == set(served_requests()) - {UpdateMetadataRequest}

    async def send_nothing(broker_id: int, request: UpdateMetadataRequest) -> Any:
        raise AssertionError((broker_id, request))

    backend = Controller(MemoryZooKeeper().session(), 1, send_nothing)
    services = node_services(backend)
    services.tools.register(node_tools()(services))
    dispatcher = RequestDispatcher(services, Metrics(1))
    services.dispatch = dispatcher.dispatch
    for requests in EXPECTED.values():
        for request, expected in requests:
            for version in type(request).versions:
                assert await answer(dispatcher, request, version) == expected, (request, version)


async def test_new_session_requires_the_metadata_again() -> None:
    """Cached responses are those of the session before."""
    services = node_services()
    dispatcher = RequestDispatcher(services, Metrics(1))
    request = frame.encode_request(TopicMetadataRequest_V1(topic_names=()), version=1, correlation_id=7, client_id="x")
    full = UpdateMetadataRequest(controller_id=1, controller_epoch=1, type=2, topic_states=(), live_brokers=())
    client = ConnectedClient("?")
    for _ in range(2):
        services.metadata.begin_session()
        assert dispatcher.cached_responses(client, request, 0, 0) is None
        with pytest.raises(InvalidRequest):
            dispatcher.dispatch(request[4:], client)
        services.metadata.update(full)
        dispatcher.dispatch(request[4:], client)
        assert dispatcher.cached_responses(client, request, 0, 0) is not None


@asynccontextmanager
async def withheld_metadata(node: Node) -> AsyncIterator[None]:
    """Hold back what the controller sends to a node."""
    async with node._services.metadata_updates._applying:
        yield


async def is_closed(node: Node, request: Message) -> bool:
    try:
        await send(node, request)
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return True
    return False


async def test_node_answers_once_it_has_the_metadata_of_its_session(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    questions = ClusterMetadataRequest(), TopicMetadataRequest_V1(topic_names=(TOPIC,))
    async with nodes(root, 1) as [controller]:
        assert (await send(controller, creation(TOPIC))).topics[0].error_code == 0
        node = Node(settings(root, 2), node_tools())
        try:
            async with withheld_metadata(node):
                await node.start()
                assert [await is_closed(node, question) for question in questions] == [True, True]
                assert (await send(node, creation("other"))).topics[0].error_code == 22
                status = json.loads((await send(node, AdminRequest(tool="status", arguments=()))).output)
                assert (status["is_ready"], status["zookeeper"]) == (False, "connected")
            await eventually(lambda: knows_cluster(node, 2))
            assert (await send(node, questions[1])).topics[0].topic_error_code == 0
            before = node.session
            assert before is not None
            async with withheld_metadata(node):
                await before.store.close()
                await eventually(lambda: not node.is_ready)
                await eventually(lambda: node.session is not None and node.session.broker_epoch > before.broker_epoch)
                assert [await is_closed(node, question) for question in questions] == [True, True]
            await eventually(lambda: knows_cluster(node, 2))
            assert (await send(node, questions[1])).topics[0].topic_error_code == 0
        finally:
            await node.stop(grace=0.5)


async def test_ready_file_appears_with_the_metadata(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    root = await new_root(server)
    ready = tmp_path / "ready.json"
    async with session(root) as other:
        await other.create("/controller", b'{"version":1,"brokerid":9,"timestamp":"0"}', ephemeral=True)
        running = asyncio.create_task(run_node(settings(root, 1), ready, None, node_tools()))
        try:
            while await other.exists("/brokers/ids/1") is None:
                await asyncio.sleep(0.01)
            assert not ready.exists(), "the broker that is the controller sends nothing"
            await other.delete("/controller")
            await eventually(ready.exists)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_rolling_restart_gives_no_wrong_answer(server: EmbeddedZooKeeper) -> None:
    """A client asks every node all the time."""
    root = await new_root(server)
    answers = 0
    wrong: list[object] = []

    async def ask(node: Node) -> None:
        nonlocal answers
        try:
            topics = (await send(node, TopicMetadataRequest_V1(topic_names=(TOPIC,)))).topics
            cluster = await send(node, ClusterMetadataRequest())
        except (OSError, asyncio.IncompleteReadError):
            return
        answers += 1
        if topics[0].topic_error_code or not cluster.brokers:
            wrong.append((node.settings.id, topics, cluster))

    async with nodes(root, 1, 2, 3) as running:
        assert (await send(running[0], creation(TOPIC, 1, 3))).topics[0].error_code == 0
        await eventually(lambda: all(TOPIC in node.metadata.topics for node in running))
        for at in (0, 1, 2):
            port = running[at].port
            stopping = asyncio.create_task(running[at].stop(grace=0.5))
            while not stopping.done():
                await ask(running[at])
            running[at] = Node(settings(root, running[at].settings.id, listen=("127.0.0.1", port)), node_tools())
            running[at].host, running[at].port = "127.0.0.1", port
            starting = asyncio.create_task(running[at].start())
            while not (starting.done() and running[at].is_ready):
                await ask(running[at])
            await starting
            await ask(running[at])
    assert not wrong
    assert answers >= 3
