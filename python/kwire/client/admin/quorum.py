"""The KRaft quorum and the registration of brokers (KIP-595, KIP-853, KIP-631).

Examples:
    >>> quorum = admin.describe_quorum()
    >>> len(quorum.voters), quorum.voters[0].id == quorum.leader
    (1, True)
    >>> sorted(admin.registered_brokers())
    [1]
"""

from __future__ import annotations

from types import MappingProxyType

from kwire._util.concurrency import timeout_after
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin.answer import error_code, lacking, result_error
from kwire.client.admin.change_checks import check_change
from kwire.client.admin.cluster_router import SILENT_SHARE
from kwire.client.admin.errors import AdminError
from kwire.client.admin.targets import ANY, CONTROLLER
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault, NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kwire.client.admin.session import AdminSession
    from kwire.declare import Message
    from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaState

FENCED_SINCE = 2
"""The first version of DescribeCluster that lists brokers that are not running (KIP-1073)."""
METADATA_TOPIC = "__cluster_metadata"


class QuorumReplica(NamedTuple):
    """A replica of the metadata log.

    Attributes:
        id: the id of the controller or broker.
        directory_id: the id of its directory (KIP-853); None if it is not reported.
        log_end_offset: the end of its log.
        last_caught_up_ms: the last time it had the whole log, in milliseconds since 1970; None if it is not known.
        last_fetch_ms: the time of its last fetch, in milliseconds since 1970; None if it is not known.
        listeners: the addresses of a voter by name of the listener; empty for an observer, or if they are not reported.
    """

    id: int
    directory_id: UUID | None
    log_end_offset: int
    last_caught_up_ms: int | None
    last_fetch_ms: int | None = None
    listeners: Mapping[str, Endpoint] = MappingProxyType({})


class QuorumDescription(NamedTuple):
    """The KRaft quorum.

    Attributes:
        leader: the id of the active controller.
        leader_epoch: its epoch.
        high_watermark: the offset up to which the log is committed.
        voters: the controllers.
        observers: the brokers.
    """

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class RegisteredBroker(NamedTuple):
    """A broker that is registered with the controller.

    Attributes:
        host: its host; empty if it is down and has no address at this listener.
        port: its port; -1 without an address.
        rack: its rack; None without one.
        is_fenced: true if it is registered, but stopped or catching up.
    """

    host: str
    port: int
    rack: str | None
    is_fenced: bool


async def describe_quorum(admin: AdminSession) -> QuorumDescription:
    """Return the state of the KRaft quorum.

    Raises:
        NoCommonVersion: the cluster has ZooKeeper instead.
        AdminError: a broker refused the request.
    """
    return _quorum((await admin.router.read(_quorum_request(), ANY, error_code)).response)


async def describe_quorum_at(
    admin: AdminSession, broker: Endpoint, *, timeout: float | None = None
) -> QuorumDescription:
    """Return the state of the KRaft quorum, which one broker has asked the active controller for, without a retry.

    Args:
        broker: the address of the broker.
        timeout: seconds to wait; None for the timeout of the client.

    Raises:
        ConnectionFault: the broker, or the controller that it asks, does not respond.
        NoCommonVersion: the cluster has ZooKeeper instead.
        AdminError: the broker refused the request, or knows no active controller.
    """
    return _quorum(await admin.router.send(broker, _quorum_request(), timeout))


async def active_controller(admin: AdminSession) -> int | None:
    """Return the id of the active controller: the leader of the quorum, or the controller of another cluster.

    None if no broker names it: the quorum has no leader or does not answer within a part of the timeout, or the user
    cannot describe the cluster. Metadata of a KRaft cluster names a random broker in its place, so it is not asked.
    """
    if admin.dialect == "kafka":
        try:
            async with timeout_after(admin.router.timeout * SILENT_SHARE):
                leader = (await describe_quorum(admin)).leader
        except NoCommonVersion:
            pass
        except (AdminError, ConnectionFault, TimeoutError):
            return None
        else:
            return leader if leader >= 0 else None
    controller = (await admin.router.describe_cluster()).controller
    return None if controller is None else controller.id


def _quorum_request() -> DescribeQuorumRequest:
    from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData

    topic = TopicData(topic_name=METADATA_TOPIC, partitions=(PartitionData(partition_index=0),))
    return DescribeQuorumRequest(topics=(topic,))


def _quorum(response: DescribeQuorumResponse) -> QuorumDescription:
    """Return the quorum that a response describes.

    Raises:
        AdminError: the response is an error, or lacks the metadata log.
    """
    partition = next((partition for topic in response.topics for partition in topic.partitions), None)
    error = result_error(response, "the quorum") or (partition and result_error(partition, "the quorum"))
    if error is not None or partition is None:
        raise error or lacking("the quorum")
    listeners = {
        node.node_id: {listener.name: Endpoint(listener.host, listener.port) for listener in node.listeners}
        for node in response.nodes
    }
    return QuorumDescription(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        tuple(_replica(voter, listeners.get(voter.replica_id, {})) for voter in partition.current_voters),
        tuple(_replica(observer, {}) for observer in partition.observers),
    )


async def add_raft_voter(
    admin: AdminSession,
    voter_id: int,
    directory_id: UUID,
    listeners: Mapping[str, Endpoint],
    *,
    cluster_id: str | None = None,
    validate_only: bool = False,
) -> None:
    """Add a running controller to the voters (KIP-853). The command is never repeated after a lost response.

    Args:
        voter_id: the node id of the controller.
        directory_id: the id of its metadata directory.
        listeners: its addresses by name of the listener.
        cluster_id: the cluster id that is expected; None for any.
        validate_only: check the quorum, and add nothing. The controller itself is not asked.

    Raises:
        AdminError: 7 the controller did not catch up in time; 31 not authorized; 35 the quorum is static; 42 none of
            the listeners is one of the leader; 104 another cluster; 126 it is a voter already.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.add_raft_voter import AddRaftVoterRequest, Listener

    item = f"voter {voter_id}"
    if validate_only:
        quorum = await _check_quorum(admin, cluster_id, AddRaftVoterRequest, item)
        if voter_id in {voter.id for voter in quorum.voters}:
            raise AdminError.of_kafka(ErrorCode.DUPLICATE_VOTER, item)
        leader = next((voter.listeners for voter in quorum.voters if voter.id == quorum.leader), {})
        if leader and not leader.keys() & listeners.keys():
            reason = f"the voters have no listener {', '.join(listeners)}, but {', '.join(leader)}"
            raise AdminError.of_kafka(ErrorCode.INVALID_REQUEST, item, reason)
        return
    request = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=admin.router.timeout_ms,
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=tuple(
            Listener(name=name, host=endpoint.host, port=endpoint.port) for name, endpoint in listeners.items()
        ),
    )
    (await admin.router.command(request, CONTROLLER, error_code)).accepted(item)


async def remove_raft_voter(
    admin: AdminSession,
    voter_id: int,
    directory_id: UUID,
    *,
    cluster_id: str | None = None,
    validate_only: bool = False,
) -> None:
    """Remove a controller from the voters (KIP-853). The command is never repeated after a lost response.

    Args:
        voter_id: the node id of the controller.
        directory_id: the id of its metadata directory.
        cluster_id: the cluster id that is expected; None for any.
        validate_only: check the quorum, and remove nothing.

    Raises:
        AdminError: 31 not authorized; 35 the quorum is static; 42 it is the only voter; 104 another cluster; 127 it is
            not a voter.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.remove_raft_voter import RemoveRaftVoterRequest

    item = f"voter {voter_id}"
    if validate_only:
        voters = (await _check_quorum(admin, cluster_id, RemoveRaftVoterRequest, item)).voters
        if (voter_id, directory_id) not in {(voter.id, voter.directory_id) for voter in voters}:
            raise AdminError.of_kafka(ErrorCode.VOTER_NOT_FOUND, item)
        if len(voters) == 1:
            raise AdminError.of_kafka(ErrorCode.INVALID_REQUEST, item, "it is the only voter of the quorum")
        return
    request = RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory_id)
    (await admin.router.command(request, CONTROLLER, error_code)).accepted(item)


async def _check_quorum(
    admin: AdminSession, cluster_id: str | None, request: type[Message], item: str
) -> QuorumDescription:
    """Return the quorum if its voters can change: `kraft.version` is at least 1.

    Raises:
        AdminError: 31 not authorized; 35 the quorum is static; 104 another cluster.
    """
    from kwire.client.admin.features import describe_features

    await check_change(admin, request, item)
    quorum = await describe_quorum(admin)
    if cluster_id is not None and cluster_id != (await admin.router.describe_cluster()).cluster_id:
        raise AdminError.of_kafka(ErrorCode.INCONSISTENT_CLUSTER_ID, item)
    level = (await describe_features(admin)).finalized_features.get("kraft.version")
    if level is None or level.max_version_level < 1:
        reason = "the quorum is static: its voters cannot change before kraft.version is 1"
        raise AdminError.of_kafka(ErrorCode.UNSUPPORTED_VERSION, item, reason)
    return quorum


async def has_zookeeper(admin: AdminSession) -> bool:
    """Return whether the brokers of a cluster of Kafka keep their metadata in ZooKeeper, not in a KRaft quorum."""
    from kwire.messages.kafka.unregister_broker import UnregisterBrokerRequest

    try:
        await admin.router.highest_version(UnregisterBrokerRequest)
    except NoCommonVersion:
        return True
    return False


async def registered_brokers(admin: AdminSession) -> dict[int, RegisteredBroker] | None:
    """Return registered brokers by id, also brokers that are not running.

    None if the cluster does not report the latter, before Kafka 4.0 (KIP-1073).

    Raises:
        NoCommonVersion: the cluster has ZooKeeper, or it cannot unregister brokers.
    """
    from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
    from kwire.messages.kafka.unregister_broker import UnregisterBrokerRequest

    await admin.router.highest_version(UnregisterBrokerRequest)
    if await admin.router.highest_version(DescribeClusterRequest) < FENCED_SINCE:
        return None
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    response = (await admin.router.read(request, ANY, error_code)).accepted("cluster")
    return {
        broker.broker_id: RegisteredBroker(broker.host, broker.port, broker.rack, broker.is_fenced)
        for broker in response.brokers
    }


async def unregister_broker(admin: AdminSession, broker_id: int, *, validate_only: bool = False) -> None:
    """Remove the registration of a broker that is gone for good from a KRaft cluster (KIP-631).

    The broker stays in the replicas of partitions until they are reassigned, and a running broker registers again
    when it restarts. The command is never repeated after a lost response.

    Args:
        broker_id: the id of the broker.
        validate_only: check that the broker is registered, and remove nothing. Clusters before Kafka 4.0 do not report
            the registrations of stopped brokers.

    Raises:
        AdminError: 31 not authorized; 102 the broker is not registered.
        NoCommonVersion: the cluster has ZooKeeper instead.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.unregister_broker import UnregisterBrokerRequest

    item = f"broker {broker_id}"
    if validate_only:
        await check_change(admin, UnregisterBrokerRequest, item)
        registered = await registered_brokers(admin)
        if registered is not None and broker_id not in registered:
            raise AdminError.of_kafka(ErrorCode.BROKER_ID_NOT_REGISTERED, item)
        return
    request = UnregisterBrokerRequest(broker_id=broker_id)
    (await admin.router.command(request, CONTROLLER, error_code)).accepted(item)


async def unregister_controller(admin: AdminSession, controller_id: int, *, validate_only: bool = False) -> None:
    """Remove the registration of a controller that is gone for good (Kafka 4.4).

    The command is never repeated after a lost response.

    Args:
        controller_id: the id of the controller.
        validate_only: check that the cluster has the request and permits it, and remove nothing. Brokers do not report
            which controllers are registered.

    Raises:
        AdminError: 31 not authorized; the controller is not registered.
        NoCommonVersion: the cluster does not have the request.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.unregister_controller import UnregisterControllerRequest

    item = f"controller {controller_id}"
    if validate_only:
        await check_change(admin, UnregisterControllerRequest, item)
        return
    request = UnregisterControllerRequest(controller_id=controller_id)
    (await admin.router.command(request, CONTROLLER, error_code)).accepted(item)


def _replica(replica: ReplicaState, listeners: Mapping[str, Endpoint]) -> QuorumReplica:
    directory = replica.replica_directory_id
    caught_up, fetched = replica.last_caught_up_timestamp, replica.last_fetch_timestamp
    return QuorumReplica(
        replica.replica_id,
        directory if directory.int else None,
        replica.log_end_offset,
        None if caught_up < 0 else caught_up,
        None if fetched < 0 else fetched,
        listeners,
    )
