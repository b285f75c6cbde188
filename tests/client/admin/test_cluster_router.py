"""Requests of an admin client that are sent again, and requests that never are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.concurrency import running_loop
from kwire.client.admin import AdminClient, NewTopic, OutcomeUnknown, TopicChange
from kwire.messages.kafka.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kwire.messages.kafka.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kwire.messages.kafka.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.structures import Broker
from kwire.protocol.errors import ConnectionFault, Timeout
from kwire.testing import FakeCluster
from tests.client.admin.client_loops import in_client_loop
from tests.client.admin.scripted_broker import KeepSilent, LoseResponse, ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.declare import Message


class Script:
    """The responses of one broker, which is its own controller."""

    def __init__(self, **responses: list[Message | type[Exception]]) -> None:
        self.responses = responses
        """Responses by the name of the request, in order. The last one is used again."""
        self.broker: ScriptedBroker | None = None
        self.topics: Callable[[], tuple[MetadataResponseTopic, ...]] = tuple
        """Returns the topics of the cluster."""

    def __call__(self, request: Any) -> Message:
        assert self.broker is not None
        if isinstance(request, MetadataRequest):
            itself = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.broker.port)
            return MetadataResponse(brokers=(itself,), controller_id=1, topics=self.topics())
        if isinstance(request, ClusterMetadataRequest):
            node = Broker(node_id=1, host="127.0.0.1", port=self.broker.port)
            return ClusterMetadataResponse(error_code=0, brokers=(node,), controller=node)
        planned = self.responses[type(request).__name__]
        response = planned.pop(0) if len(planned) > 1 else planned[0]
        if isinstance(response, type):
            raise response
        return response

    def sent(self, request: type[Message]) -> int:
        """Return how often a request was received."""
        assert self.broker is not None
        return sum(isinstance(received, request) for received in self.broker.received)


async def run(
    dialect: Any, script: Script, work: Callable[[AdminClient], Awaitable[Any]], timeout: float = 10.0
) -> Any:
    async def client() -> Any:
        async with await AdminClient.open(f"127.0.0.1:{broker.port}", timeout=timeout) as admin:
            return await work(admin)

    async with scripted_broker(dialect, script) as broker:
        script.broker = broker
        return await in_client_loop(client())


def created(code: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=(CreatableTopicResult(name="t", error_code=code, error_message=None),))


def reassigned(code: int = 0) -> AlterPartitionReassignmentsResponse:
    partition = ReassignablePartitionResponse(partition_index=0, error_code=code, error_message=None)
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        responses=(ReassignableTopicResponse(name="t", partitions=(partition,)),),
    )


async def test_creation_is_not_repeated_after_a_lost_response() -> None:
    script = Script(CreateTopicsRequest=[LoseResponse])
    with pytest.raises(
        OutcomeUnknown, match="the outcome of CreateTopicsRequest is unknown, check it before"
    ) as raised:
        await run("kafka", script, lambda admin: admin.create_topics({"t": NewTopic(partitions=1)}))
    assert script.sent(CreateTopicsRequest) == 1
    assert raised.value.attempts == 1
    assert isinstance(raised.value.fault, ConnectionFault)


async def test_creation_is_sent_to_the_next_controller_and_counts_its_attempts() -> None:
    script = Script(CreateTopicsRequest=[created(ErrorCode.NOT_CONTROLLER), created(ErrorCode.TOPIC_ALREADY_EXISTS)])
    outcomes = await run("kafka", script, lambda admin: admin.create_topics({"t": NewTopic(partitions=1)}))
    assert outcomes["t"].code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert (outcomes.attempts, outcomes["t"].attempts) == (2, 2)


async def test_reassignment_is_repeated_after_a_lost_response() -> None:
    script = Script(AlterPartitionReassignmentsRequest=[LoseResponse, reassigned()])
    outcomes = await run("kafka", script, lambda admin: admin.reassign_partitions({"t": {0: [1]}}))
    assert dict(outcomes) == {"t-0": None}
    assert outcomes.attempts == script.sent(AlterPartitionReassignmentsRequest) == 2


@pytest.mark.parametrize(
    ("request_class", "command"),
    [
        (AdminRequest, lambda admin: admin.run_tool("status")),
        (CreateTopicRequest_V2, lambda admin: admin.create_topics({"t": NewTopic(partitions=1)})),
        (DeleteTopicRequest_V2, lambda admin: admin.delete_topics(["t"])),
    ],
    ids=["run_tool", "create", "delete"],
)
async def test_command_of_the_drafts_is_never_executed_twice(
    request_class: type[Message], command: Callable[[AdminClient], Awaitable[Any]]
) -> None:
    responses: dict[str, list[Message | type[Exception]]] = {request_class.__name__: [LoseResponse]}
    script = Script(**responses)
    with pytest.raises(OutcomeUnknown):
        await run("kip4", script, command)
    assert script.sent(request_class) == 1


async def test_command_that_times_out_has_an_unknown_outcome() -> None:
    script = Script(CreateTopicsRequest=[KeepSilent])
    with pytest.raises(OutcomeUnknown, match="no response to CreateTopicsRequest within"):
        # Also the time in which a busy machine connects and finds the controller.
        await run("kafka", script, lambda admin: admin.create_topics({"t": NewTopic(partitions=1)}), timeout=3.0)
    assert script.sent(CreateTopicsRequest) == 1


@pytest.mark.parametrize(("found", "error"), [(3, None), (2, "INVALID_PARTITIONS"), (4, "INVALID_PARTITIONS")])
async def test_partitions_that_were_added_by_the_first_attempt_are_a_success(found: int, error: str | None) -> None:
    def of_topic(partitions: int) -> MetadataResponseTopic:
        described = (
            MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
            )
            for index in range(partitions)
        )
        return MetadataResponseTopic(error_code=0, name="t", partitions=tuple(described))

    refused = CreatePartitionsTopicResult(name="t", error_code=ErrorCode.INVALID_PARTITIONS, error_message="it has 3")
    script = Script(
        CreatePartitionsRequest=[LoseResponse, CreatePartitionsResponse(throttle_time_ms=0, results=(refused,))]
    )
    script.topics = lambda: (of_topic(found if script.sent(CreatePartitionsRequest) else 2),)
    outcomes = await run("kafka", script, lambda admin: admin.alter_topics({"t": TopicChange(partitions=3)}))
    assert {name: error and error.name for name, error in outcomes.items()} == {"t": error}
    assert outcomes.attempts == 2


async def test_throttled_client_waits_before_the_next_request() -> None:
    throttled = CreateTopicsResponse(throttle_time_ms=300, topics=created(0).topics)
    script = Script(CreateTopicsRequest=[throttled])

    async def twice(admin: AdminClient) -> float:
        clock = running_loop().time
        started = clock()  # before the response that throttles the client
        (await admin.create_topics({"t": NewTopic(partitions=1)})).raise_first()
        (await admin.create_topics({"t": NewTopic(partitions=1)})).raise_first()
        return clock() - started

    assert await run("kafka", script, twice) >= 0.3


async def test_command_that_waits_for_the_end_of_a_throttle_has_a_known_outcome() -> None:
    an_hour = CreateTopicsResponse(throttle_time_ms=3_600_000, topics=created(0).topics)
    script = Script(CreateTopicsRequest=[an_hour])

    async def twice(admin: AdminClient) -> None:
        (await admin.create_topics({"t": NewTopic(partitions=1)})).raise_first()
        admin.router.timeout = 0.1
        await admin.create_topics({"t": NewTopic(partitions=1)})

    with pytest.raises(Timeout):
        await run("kafka", script, twice)
    assert script.sent(CreateTopicsRequest) == 1


async def test_connections_of_a_scripted_broker_end_with_it() -> None:
    async with scripted_broker("kafka", Script()) as broker:
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    assert await asyncio.wait_for(reader.read(), 30) == b""
    writer.close()
    await writer.wait_closed()


async def test_a_timeout_of_nothing_ends() -> None:
    """A loop that never waits would not be ended by its timeout, and start tries until the memory is full."""
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        for timeout in (0.0, -1.0, 1e-9):
            async with await AdminClient.open(cluster.bootstrap) as admin:
                admin.router.timeout = timeout
                with pytest.raises(ConnectionFault):
                    await admin.list_groups()
