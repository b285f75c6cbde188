"""Dry runs of nodes: a request inside of an Admin request, from its bytes to its response."""

from __future__ import annotations

from base64 import b64encode
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.authorization.acl_authorizer import AclAuthorizer, ResourcePattern
from kwire.authorization.acl_entries import AclEntry
from kwire.authorization.subjects import Subject
from kwire.messages.kafka.envelope import EnvelopeRequest
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.messages.kip4.admin import AdminRequest, AdminResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.protocol.client_connection import response_class
from kwire_cluster.node.dry_run import TOOL
from kwire_cluster.node.listener.connection_limits import ConnectedClient
from kwire_cluster.node.metrics import Metrics
from kwire_cluster.node.requests.request_dispatcher import RequestDispatcher
from tests.cluster.controller.clusters import cluster_of, creation, reassignment
from tests.cluster.node.handling import node_services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire.declare import Message
    from tests.cluster.controller.clusters import Cluster

ALICE = Subject("User:alice", "127.0.0.1")


class Sender:
    """A client of a node whose controller has a cluster in memory."""

    def __init__(self, cluster: Cluster, authorizer: AclAuthorizer | None = None) -> None:
        services = node_services(cluster.active)
        services.authorizer = authorizer
        self._dispatcher = RequestDispatcher(services, Metrics(1))
        services.dispatch = self._dispatcher.dispatch

    async def send(self, message: Message, version: int = 0) -> Any:
        client = ConnectedClient("127.0.0.1:5")
        client.subject = ALICE
        payload = frame.encode_request(message, version=version, correlation_id=3)[4:]
        answered = self._dispatcher.dispatch(payload, client)
        whole = answered if isinstance(answered, bytes | tuple) else await answered
        received = whole if isinstance(whole, bytes) else b"".join(whole)
        return frame.decode_response(received[4:], response_class(type(message)), version=version).message

    async def dry_run(self, message: Message, version: int) -> Any:
        """Return the response in the response to a dry run; the response itself if the dry run is refused."""
        text = b64encode(frame.encode_request(message, version=version, correlation_id=7)[4:]).decode()
        response: AdminResponse = await self.send(AdminRequest(tool=TOOL, arguments=(text[:9], text[9:])))
        if response.error_code:
            return response
        return frame.decode_response(response.output, response_class(type(message)), version=version).message


@asynccontextmanager
async def sender_of(authorizer: AclAuthorizer | None = None) -> AsyncIterator[tuple[Cluster, Sender]]:
    async with cluster_of(1, 2) as cluster:
        await cluster.active.create_topics([creation("there", (1, 2))])
        await cluster.wait_idle()
        yield cluster, Sender(cluster, authorizer)


CHANGES: list[tuple[Message, int]] = [
    (CreateTopicRequest_V2(topics=(creation("new", (1,)), creation("there", (1,)), creation("far", (9,)))), 2),
    (CreateTopicRequest_V2(topics=(TopicCreation(topic_name="a b"), TopicCreation(topic_name="c"))), 2),
    (ReassignPartitionsRequest(topics=(reassignment("there", p0=(2, 1)), reassignment("nosuch", p0=(1,)))), 0),
    (DeleteTopicRequest_V2(topic_names=("nosuch", "there")), 2),
]


async def test_dry_run_has_the_response_of_the_request_and_changes_nothing() -> None:
    async with sender_of() as (cluster, sender):
        for message, version in CHANGES:
            dry = await sender.dry_run(message, version)
            await cluster.wait_idle()
            assert await sender.send(message, version) == dry, message
            await cluster.wait_idle()


async def test_dry_run_needs_the_permissions_of_the_change() -> None:
    authorizer = AclAuthorizer()
    authorizer.replace({ResourcePattern("Topic", "new"): [AclEntry("User:alice", "Allow", "Create", "*")]})
    async with sender_of(authorizer) as (_, sender):
        response = await sender.dry_run(*CHANGES[0])
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert [(topic.topic_name, topic.error_code) for topic in response.topics] == [
            ("new", 0),
            ("there", denied),
            ("far", denied),
        ]


@pytest.mark.parametrize(
    ("inner", "version"),
    [
        (ListTopicsRequest(), 0),
        (AdminRequest(tool="status", arguments=()), 0),
        (UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=()), 0),
        (EnvelopeRequest(request_data=b"", request_principal=None, client_host_address=b""), 0),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else "",
)
async def test_requests_without_a_dry_run_are_refused(inner: Message, version: int) -> None:
    async with sender_of() as (_, sender):
        response = await sender.dry_run(inner, version)
        assert isinstance(response, AdminResponse)
        assert response.error_code == ErrorCode.ADMIN_REQUEST_FAILED
        assert "only requests that change topics" in (response.error_description or "")


@pytest.mark.parametrize("arguments", [(), ("",), ("é",), ("AAA",), ("AA0AAg==",)])
async def test_damaged_requests_are_refused(arguments: tuple[str, ...]) -> None:
    async with sender_of() as (_, sender):
        response = await sender.send(AdminRequest(tool=TOOL, arguments=arguments))
        assert (response.error_code, response.exit_status, response.output) == (21, 1, b"")
