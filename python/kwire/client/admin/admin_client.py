"""An admin client for clusters that implement the drafts of KIP-4.

Commands are asynchronous: success means that the controller has accepted a command, and `wait_until_...` waits for its
completion. An error of one topic is an AdminError in the outcomes; an error of the whole request is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from kwire.client.admin import completion
from kwire.client.admin.controller_router import ControllerResponse, ControllerRouter
from kwire.client.admin.errors import AdminError
from kwire.client.admin.values import (
    BrokerAddress,
    ClusterDescription,
    Outcomes,
    PartitionDescription,
    ReassignmentState,
    ReassignmentStatus,
    ToolResult,
    TopicDescription,
)
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
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.values import NewTopic, TopicChange
    from kwire.messages.kip4.structures import Broker

REASSIGNMENT_STATES = {
    0: ReassignmentState.MOVING,
    1: ReassignmentState.COMPLETED,
    -1: ReassignmentState.FAILED,
}


class AdminClient:
    """Administers a cluster. Use `async with await AdminClient.open(...)`, or `close` it.

    Every method raises ConnectionFault if no broker responds within the timeout. Commands also raise
    ControllerNotFound. A string in place of several strings is a TypeError.
    """

    def __init__(self, router: ControllerRouter) -> None:
        self._router = router

    @classmethod
    async def open(
        cls,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
    ) -> Self:
        """Connect to a cluster.

        Args:
            bootstrap: bootstrap servers, as one comma-separated string or several `host:port` strings.
            client_id: the client id of all requests.
            timeout: seconds for a request with all its attempts.

        Raises:
            ConnectionFault: no broker responds.
            ValueError: an address is invalid.
        """
        self = cls(ControllerRouter(Endpoint.parse_all(bootstrap), client_id, timeout))
        try:
            await self._router.describe_cluster()
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Close all connections."""
        await self._router.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Commands

    async def create_topics(self, topics: Mapping[str, NewTopic]) -> Outcomes:
        """Create topics.

        Errors of a topic: 1001 it exists already; 1002, 1004, 1005, 1006 invalid arguments; 1010 invalid name.
        """
        request = CreateTopicRequest_V2(
            topics=tuple(
                TopicCreation(
                    topic_name=name,
                    partitions=-1 if topic.partitions is None else topic.partitions,
                    replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
                    replica_assignment=assignment(topic.assignment),
                    config_entries=entries(topic.configs),
                )
                for name, topic in topics.items()
            )
        )
        return by_topic_name(await self._router.send_to_controller(request, first_error_code))

    async def alter_topics(self, topics: Mapping[str, TopicChange]) -> Outcomes:
        """Change topics.

        Errors of a topic: 3 unknown topic; 1003 fewer partitions than before; 1004 to 1006 invalid arguments; 1009 a
        reassignment is in progress.
        """
        request = AlterTopicRequest_V2(
            topics=tuple(
                TopicAlteration(
                    topic_name=name,
                    partitions=-1 if topic.partitions is None else topic.partitions,
                    replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
                    replica_assignment=assignment(topic.assignment),
                    added_config_entries=entries(topic.set_configs),
                    deleted_configs=strings_tuple(topic.delete_configs),
                )
                for name, topic in topics.items()
            )
        )
        return by_topic_name(await self._router.send_to_controller(request, first_error_code))

    async def delete_topics(self, names: Iterable[str]) -> Outcomes:
        """Delete topics.

        Errors of a topic: 3 unknown topic; 1012 the topic is named twice.
        """
        request = DeleteTopicRequest_V2(topic_names=strings_tuple(names))
        return by_topic_name(await self._router.send_to_controller(request, first_error_code))

    async def reassign_partitions(self, targets: Mapping[str, Mapping[int, Sequence[int]]]) -> Outcomes:
        """Move partitions to other brokers.

        Errors of a topic: 3 unknown topic; 1005 invalid target; 1009 a reassignment is in progress.

        Args:
            targets: the new replicas by topic and partition, the preferred leader first.
        """
        request = ReassignPartitionsRequest(topics=reassignments(targets))
        return by_topic(await self._router.send_to_controller(request, first_error_code))

    async def list_reassignments(
        self, targets: Mapping[str, Mapping[int, Sequence[int]]] | None = None
    ) -> list[ReassignmentStatus]:
        """Return the status of reassignments.

        Args:
            targets: the reassignments, as for `reassign_partitions`; None for those in progress.
        """
        request = VerifyReassignPartitionsRequest(topics=reassignments(targets or {}))
        result = await self._router.send_to_controller(request, first_error_code)
        if not targets:
            raise_if_rejected(result)
        return [
            ReassignmentStatus(
                topic.topic,
                {
                    each.partition_id: REASSIGNMENT_STATES.get(each.status, str(each.status))
                    for each in topic.partitions
                },
                AdminError(topic.error_code, topic.topic, attempts=result.attempts) if topic.error_code else None,
            )
            for topic in result.response.topics
        ]

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None = None) -> Outcomes:
        """Elect the preferred leaders of partitions.

        Errors of a topic: 3 unknown topic; 1007 an election is in progress; 1008 a partition is named twice.

        Args:
            partitions: partitions by topic, with an empty sequence for all partitions of a topic; None for all topics.

        Raises:
            AdminError: a request for all topics was rejected.
        """
        named = tuple(
            TopicPartitions(topic=topic, partition_ids=tuple(ids)) for topic, ids in (partitions or {}).items()
        )
        result = await self._router.send_to_controller(
            PreferredReplicaLeaderElectionRequest(topics=named), first_error_code
        )
        if not named:
            raise_if_rejected(result)
        return by_topic(result)

    async def run_tool(self, name: str, arguments: Sequence[str] = (), *, broker_id: int | None = None) -> ToolResult:
        """Run a registered tool on a broker.

        Args:
            name: the name of the tool.
            arguments: its command line arguments.
            broker_id: the broker; None for any.

        Raises:
            AdminError: the broker has no such tool, or no live broker has this id.
        """
        request = AdminRequest(tool=name, arguments=strings_tuple(arguments))
        if broker_id is None:
            response = await self._router.send_to_any(request)
        else:
            await self._router.describe_cluster()
            endpoint = self._router.brokers.get(broker_id)
            if endpoint is None:
                raise AdminError(ErrorCode.ADMIN_REQUEST_FAILED, name, f"no live broker has the id {broker_id}")
            response = await self._router.send(endpoint, request)
        if response.error_code != ErrorCode.NO_ERROR:
            raise AdminError(response.error_code, name, response.error_description)
        return ToolResult(response.exit_status, response.output.decode("utf-8", errors="replace"))

    # Queries

    async def describe_cluster(self) -> ClusterDescription:
        """Return the live brokers and the controller, as one broker reports them."""
        response = await self._router.describe_cluster()
        controller = response.controller
        return ClusterDescription(
            tuple(address(broker) for broker in response.brokers), None if controller is None else address(controller)
        )

    async def list_topics(self) -> list[str]:
        """Return the sorted names of all topics."""
        response = await self._router.send_to_any(TopicMetadataRequest_V1(topic_names=()))
        return sorted(topic.topic_name for topic in response.topics)

    async def describe_topics(self, names: Iterable[str] = ()) -> dict[str, TopicDescription | AdminError]:
        """Return topics by name, as one broker reports them. An unknown topic is an AdminError with code 3.

        Args:
            names: the topics; all topics if there are none.
        """
        response = await self._router.send_to_any(TopicMetadataRequest_V1(topic_names=strings_tuple(names)))
        described: dict[str, TopicDescription | AdminError] = {}
        for topic in response.topics:
            if topic.topic_error_code:
                described[topic.topic_name] = AdminError(topic.topic_error_code, topic.topic_name)
                continue
            described[topic.topic_name] = TopicDescription(
                topic.topic_name,
                tuple(
                    PartitionDescription(
                        each.partition_id,
                        None if each.leader < 0 else each.leader,
                        tuple(replica.replica_id for replica in each.replicas_lag),
                        each.isr,
                    )
                    for each in topic.partitions
                ),
                {entry.config_key: entry.config_value for entry in topic.config_entries},
            )
        return described

    # Waiting

    async def wait_until_created(
        self,
        topics: Iterable[str] | Mapping[str, int],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports these topics with a leader for each partition.

        Args:
            topics: the names of the topics, or a mapping to their numbers of partitions.
            timeout: seconds to wait.
            on_progress: called after each round of requests.

        Raises:
            ChangeTimeout: a broker does not report the change in time. This applies to all methods that wait.
        """
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(strings_tuple(topics))
        conditions = {name: completion.is_created(count) for name, count in counts.items()}
        await completion.wait_until(self._router, "created", conditions, timeout, on_progress)

    async def wait_until_deleted(
        self,
        names: Iterable[str],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until no broker reports these topics. See `wait_until_created` for the other arguments."""
        conditions = dict.fromkeys(strings_tuple(names), completion.is_deleted)
        await completion.wait_until(self._router, "deleted", conditions, timeout, on_progress)

    async def wait_until_reassigned(
        self,
        targets: Mapping[str, Mapping[int, Sequence[int]]],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports the targets as replicas, all of them in sync."""
        conditions = {topic: completion.is_reassigned(partitions) for topic, partitions in targets.items()}
        await completion.wait_until(self._router, "reassigned", conditions, timeout, on_progress)

    async def wait_until_preferred(
        self,
        partitions: Mapping[str, Sequence[int]] | None = None,
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until preferred replicas lead. `partitions` is that of `elect_leaders`."""
        wanted: Mapping[str, Sequence[int]] = partitions or dict.fromkeys(await self.list_topics(), ())
        conditions = {topic: completion.has_preferred_leaders(indexes) for topic, indexes in wanted.items()}
        await completion.wait_until(self._router, "led by the preferred replicas", conditions, timeout, on_progress)


def strings_tuple(strings: Iterable[str]) -> tuple[str, ...]:
    """Return strings as a tuple. A single string is a TypeError: iterating it would name other topics."""
    if isinstance(strings, str):
        raise TypeError(f"expected several strings, not one: write [{strings!r}]")
    return tuple(strings)


def assignment(replicas: Mapping[int, Sequence[int]]) -> tuple[PartitionReplicas, ...]:
    return tuple(
        PartitionReplicas(partition_id=index, replica_ids=tuple(ids)) for index, ids in sorted(replicas.items())
    )


def entries(configs: Mapping[str, str]) -> tuple[ConfigEntry, ...]:
    return tuple(ConfigEntry(config_key=key, config_value=value) for key, value in configs.items())


def reassignments(targets: Mapping[str, Mapping[int, Sequence[int]]]) -> tuple[TopicReassignment, ...]:
    return tuple(
        TopicReassignment(topic=topic, partitions=assignment(partitions)) for topic, partitions in targets.items()
    )


def address(broker: Broker) -> BrokerAddress:
    return BrokerAddress(broker.node_id, broker.host, broker.port)


def first_error_code(response: Any) -> int:
    """Return the error code of the first topic: a broker that is not the controller reports it for every topic."""
    return response.topics[0].error_code if response.topics else ErrorCode.NO_ERROR


def raise_if_rejected(result: ControllerResponse[Any]) -> None:
    """Raise the error of a rejected request for all topics: its response has one entry, without a name."""
    for topic in result.response.topics:
        if topic.error_code and not topic.topic:
            raise AdminError(topic.error_code, "", attempts=result.attempts)


def by_topic_name(result: ControllerResponse[Any]) -> Outcomes:
    return Outcomes(
        {each.topic_name: outcome(each.error_code, each.topic_name, result) for each in result.response.topics}
    )


def by_topic(result: ControllerResponse[Any]) -> Outcomes:
    return Outcomes({each.topic: outcome(each.error_code, each.topic, result) for each in result.response.topics})


def outcome(code: int, topic: str, result: ControllerResponse[Any]) -> AdminError | None:
    return AdminError(code, topic, attempts=result.attempts) if code else None
