"""``AdminClient``: the verbs of the admin protocol (dialect ``kip4``), to whoever is the controller now.

Rules of this file: a verb is a request, the way to its answer, and what that says in the words of ``values``. Commands
are asynchronous on the broker's side: success means begun, and ``wait_until_*`` sees the end. What concerns one topic
is an AdminError in the outcomes; what concerns the request is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from kwire.client.admin import waiting
from kwire.client.admin.errors import AdminError
from kwire.client.admin.routing import Routing, Told
from kwire.client.admin.values import (
    BrokerAddress,
    ClusterDescription,
    Outcomes,
    PartitionDescription,
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

    from kwire.client.admin.values import NewTopic, TopicChange
    from kwire.client.admin.waiting import Report
    from kwire.messages.kip4.structures import Broker

STATUSES = {0: "moving", 1: "completed", -1: "failed"}


class AdminClient:
    """Use ``async with await AdminClient.open(...)``. Every verb raises ConnectionFault when no broker can be reached
    within the client's time-out, and verbs for the controller NoController when none is found; TypeError for one text
    where several are wanted.
    """

    def __init__(self, routing: Routing) -> None:
        self._routing = routing

    @classmethod
    async def open(
        cls,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
    ) -> Self:
        """``bootstrap``: ``host:port,host:port``. ``timeout``: seconds, for a request with all its attempts.

        Raises ConnectionFault when no broker answers, ValueError for an address that is none.
        """
        self = cls(Routing(Endpoint.parse_all(bootstrap), client_id, timeout))
        try:
            await self._routing.cluster()
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        await self._routing.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Commands

    async def create_topics(self, topics: Mapping[str, NewTopic]) -> Outcomes:
        """Errors of a topic: 1001 it exists, 1002, 1004, 1005, 1006 its arguments, 1010 its name."""
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
        return by_topic_name(await self._routing.ask_controller(request, first_code))

    async def alter_topics(self, topics: Mapping[str, TopicChange]) -> Outcomes:
        """Errors of a topic: 3 unknown, 1003 fewer partitions, 1004 to 1006 its arguments, 1009 a move is running."""
        request = AlterTopicRequest_V2(
            topics=tuple(
                TopicAlteration(
                    topic_name=name,
                    partitions=-1 if topic.partitions is None else topic.partitions,
                    replication_factor=-1 if topic.replication_factor is None else topic.replication_factor,
                    replica_assignment=assignment(topic.assignment),
                    added_config_entries=entries(topic.set_configs),
                    deleted_configs=several(topic.delete_configs),
                )
                for name, topic in topics.items()
            )
        )
        return by_topic_name(await self._routing.ask_controller(request, first_code))

    async def delete_topics(self, names: Iterable[str]) -> Outcomes:
        """Errors of a topic: 3 unknown, 1012 named twice."""
        request = DeleteTopicRequest_V2(topic_names=several(names))
        return by_topic_name(await self._routing.ask_controller(request, first_code))

    async def reassign_partitions(self, targets: Mapping[str, Mapping[int, Sequence[int]]]) -> Outcomes:
        """By topic and partition, where its replicas shall be. Errors: 3, 1005 the target, 1009 a move is running."""
        request = ReassignPartitionsRequest(topics=reassignments(targets))
        return by_topic(await self._routing.ask_controller(request, first_code))

    async def list_reassignments(
        self, targets: Mapping[str, Mapping[int, Sequence[int]]] | None = None
    ) -> list[ReassignmentStatus]:
        """How far these moves are; without ``targets``, what is moving now."""
        request = VerifyReassignPartitionsRequest(topics=reassignments(targets or {}))
        told = await self._routing.ask_controller(request, first_code)
        if not targets:
            whole_refused(told)
        return [
            ReassignmentStatus(
                topic.topic,
                {each.partition_id: STATUSES.get(each.status, str(each.status)) for each in topic.partitions},
                AdminError(topic.error_code, topic.topic, attempts=told.attempts) if topic.error_code else None,
            )
            for topic in told.answer.topics
        ]

    async def elect_leaders(self, partitions: Mapping[str, Sequence[int]] | None = None) -> Outcomes:
        """Have preferred replicas lead: of these topics and partitions (all of a topic for none), or of all topics.

        Errors: 3 unknown, 1007 an election is running, 1008 partitions named twice. Raises AdminError when a request
        about all topics was refused.
        """
        named = tuple(
            TopicPartitions(topic=topic, partition_ids=tuple(ids)) for topic, ids in (partitions or {}).items()
        )
        told = await self._routing.ask_controller(PreferredReplicaLeaderElectionRequest(topics=named), first_code)
        if not named:
            whole_refused(told)
        return by_topic(told)

    async def run_tool(self, name: str, arguments: Sequence[str] = (), *, broker_id: int | None = None) -> ToolResult:
        """Run a registered tool on a broker, any for None. Raises AdminError for a tool that is unknown there."""
        request = AdminRequest(tool=name, arguments=several(arguments))
        if broker_id is None:
            answer = await self._routing.ask_any(request)
        else:
            await self._routing.cluster()
            endpoint = self._routing.brokers.get(broker_id)
            if endpoint is None:
                raise AdminError(ErrorCode.ADMIN_REQUEST_FAILED, name, f"there is no live broker {broker_id}")
            answer = await self._routing.ask(endpoint, request)
        if answer.error_code != ErrorCode.NO_ERROR:
            raise AdminError(answer.error_code, name, answer.error_description)
        return ToolResult(answer.exit_status, answer.output.decode("utf-8", errors="replace"))

    # Questions

    async def describe_cluster(self) -> ClusterDescription:
        """The live brokers and the controller, as one broker tells it."""
        answer = await self._routing.cluster()
        controller = answer.controller
        return ClusterDescription(
            tuple(address(broker) for broker in answer.brokers), None if controller is None else address(controller)
        )

    async def list_topics(self) -> list[str]:
        """The names of all topics, sorted."""
        answer = await self._routing.ask_any(TopicMetadataRequest_V1(topic_names=()))
        return sorted(topic.topic_name for topic in answer.topics)

    async def describe_topics(self, names: Iterable[str] = ()) -> dict[str, TopicDescription | AdminError]:
        """By topic, as one broker tells it; all topics when none are named. An unknown topic is an AdminError 3."""
        answer = await self._routing.ask_any(TopicMetadataRequest_V1(topic_names=several(names)))
        described: dict[str, TopicDescription | AdminError] = {}
        for topic in answer.topics:
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
        report: Report | None = None,
    ) -> None:
        """Until every broker tells of these topics, each partition with a leader; a mapping says how many partitions.

        Raises NotSeenInTime, as all that wait.
        """
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(several(topics))
        conditions = {name: waiting.created(count) for name, count in counts.items()}
        await waiting.wait_until(self._routing, "created", conditions, timeout, report)

    async def wait_until_deleted(
        self,
        names: Iterable[str],
        *,
        timeout: float = 30.0,
        report: Report | None = None,
    ) -> None:
        """Until no broker knows these topics."""
        conditions = dict.fromkeys(several(names), waiting.deleted)
        await waiting.wait_until(self._routing, "deleted", conditions, timeout, report)

    async def wait_until_reassigned(
        self,
        targets: Mapping[str, Mapping[int, Sequence[int]]],
        *,
        timeout: float = 30.0,
        report: Report | None = None,
    ) -> None:
        """Until every broker tells the target as replicas, with an ISR that contains it."""
        conditions = {topic: waiting.reassigned(partitions) for topic, partitions in targets.items()}
        await waiting.wait_until(self._routing, "reassigned", conditions, timeout, report)

    async def wait_until_preferred(
        self,
        partitions: Mapping[str, Sequence[int]] | None = None,
        *,
        timeout: float = 30.0,
        report: Report | None = None,
    ) -> None:
        """Until preferred replicas lead these partitions (all of a topic for none), or those of all topics."""
        wanted: Mapping[str, Sequence[int]] = partitions or dict.fromkeys(await self.list_topics(), ())
        conditions = {topic: waiting.led_by_preferred(indexes) for topic, indexes in wanted.items()}
        await waiting.wait_until(self._routing, "led by the preferred replicas", conditions, timeout, report)


def several(texts: Iterable[str]) -> tuple[str, ...]:
    """TypeError for one text alone: it would be taken for its letters, and so for other topics."""
    if isinstance(texts, str):
        raise TypeError(f"several texts are wanted, not one: write [{texts!r}]")
    return tuple(texts)


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


def first_code(answer: Any) -> int:
    """A node that is not the controller says so of every topic."""
    return answer.topics[0].error_code if answer.topics else ErrorCode.NO_ERROR


def whole_refused(told: Told) -> None:
    """A request about everything that was refused has one entry, without a name."""
    for topic in told.answer.topics:
        if topic.error_code and not topic.topic:
            raise AdminError(topic.error_code, "", attempts=told.attempts)


def by_topic_name(told: Told) -> Outcomes:
    return Outcomes({each.topic_name: outcome(each.error_code, each.topic_name, told) for each in told.answer.topics})


def by_topic(told: Told) -> Outcomes:
    return Outcomes({each.topic: outcome(each.error_code, each.topic, told) for each in told.answer.topics})


def outcome(code: int, topic: str, told: Told) -> AdminError | None:
    return AdminError(code, topic, attempts=told.attempts) if code else None
