"""The log directories of brokers: how much space partitions take, and how much is left.

Examples:
    >>> [log_dir] = admin.describe_log_dirs([1])
    >>> log_dir.broker, log_dir.error
    (1, None)
    >>> total_size = sum(replica.size for replica in log_dir.replicas)
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin.answer import result_error
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.errors import AdminError
from kwire.client.admin.every_broker import at_every_broker
from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.leaders import by_topic
from kwire.client.admin.targets import BrokerTarget
from kwire.client.admin.topics import describe_topics
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.session import AdminSession


class ReplicaSize(NamedTuple):
    """A replica in a log directory.

    Attributes:
        topic: the topic.
        partition: the partition.
        size: bytes of its log.
        lag: messages that it is behind.
        is_future: True if it is moving here from another directory of the broker.
    """

    topic: str
    partition: int
    size: int
    lag: int
    is_future: bool


class ReplicaDirs(NamedTuple):
    """The log directories of a replica.

    Attributes:
        current: the directory of its log; None if the broker has no log of the partition in a directory that works.
        future: the directory that it is moving to; None if it is not moving.
    """

    current: str | None = None
    future: str | None = None


class LogDir(NamedTuple):
    """A log directory of a broker.

    Attributes:
        broker: the id of the broker.
        path: the path of the directory.
        total: bytes of its volume; None if the broker does not report it.
        usable: bytes that are left on the volume; None if the broker does not report it.
        replicas: the replicas in it.
        error: the reason why the directory is not available; None if it is.
    """

    broker: int
    path: str
    total: int | None
    usable: int | None
    replicas: tuple[ReplicaSize, ...]
    error: AdminError | None = None


async def describe_log_dirs(
    admin: AdminSession, brokers: Iterable[int] = (), *, unanswered: dict[int, Exception] | None = None
) -> list[LogDir]:
    """Return the log directories of brokers with the replicas in them.

    Args:
        brokers: the ids of the brokers; all live brokers if there are none.
        unanswered: receives the errors of brokers that do not answer, if others do; None to raise them.

    Raises:
        AdminError: a broker refused the request.
        BrokerNotFound: no live broker has such an id.
    """
    from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest

    log_dirs: list[LogDir] = []
    request = DescribeLogDirsRequest(topics=None)
    answers = await at_every_broker(admin.router, request, tuple(brokers), unanswered=unanswered)
    for broker, answer in answers.items():
        log_dirs += (
            LogDir(
                broker,
                result.log_dir,
                None if result.total_bytes < 0 else result.total_bytes,
                None if result.usable_bytes < 0 else result.usable_bytes,
                tuple(
                    ReplicaSize(
                        topic.name, replica.partition_index, replica.partition_size, replica.offset_lag,
                        replica.is_future_key,
                    )
                    for topic in result.topics
                    for replica in topic.partitions
                ),
                result_error(result, f"{result.log_dir} of broker {broker}"),
            )
            for result in answer.accepted(f"broker {broker}").results
        )  # fmt: skip
    return log_dirs


async def describe_replica_log_dirs(
    admin: AdminSession, broker_id: int, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ReplicaDirs]:
    """Return the log directories of replicas of a broker, and where they are moving.

    Raises:
        AdminError: the broker refused the request.
        BrokerNotFound: no live broker has this id.
    """
    dirs = dict.fromkeys(partitions, ReplicaDirs())
    for log_dir in await describe_log_dirs(admin, [broker_id]):
        for replica in log_dir.replicas:
            partition = TopicPartition(replica.topic, replica.partition)
            if partition in dirs:
                role = "future" if replica.is_future else "current"
                dirs[partition] = dirs[partition]._replace(**{role: log_dir.path})
    return dirs


async def alter_replica_log_dirs(
    admin: AdminSession, broker_id: int, paths: Mapping[TopicPartition, str], *, validate_only: bool = False
) -> Outcomes:
    """Move replicas of a broker to other log directories of it (KIP-113). Success means that a move has started.

    `describe_replica_log_dirs` says where a replica is moving; a move to its present directory cancels that. The
    command is repeated: it has the same effect again. The outcomes are by partition, such as `orders-3`. Errors: 3
    unknown partition; 9 the broker has no such replica, and will create it in this directory; 56 the directory, or the
    directory of the replica, is offline; 57 unknown directory.

    Args:
        broker_id: the id of the broker.
        paths: the new directory of each partition, as `describe_log_dirs` reports its path.
        validate_only: check the partitions, and move nothing. `unchanged` then has the replicas that are in the
            directory already and do not move. Brokers cannot do so, so the client does.

    Raises:
        BrokerNotFound: no live broker has this id.
    """
    from kwire.messages.kafka.alter_replica_log_dirs import (
        AlterReplicaLogDir,
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirTopic,
    )

    if validate_only:
        await admin.router.check_command(AlterReplicaLogDirsRequest)
        checked = await _check_moves(admin, broker_id, paths)
        return await check_outcomes(admin, AlterReplicaLogDirsRequest, checked)
    by_path: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition, path in paths.items():
        by_path[path].append(partition)
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path,
                topics=tuple(
                    AlterReplicaLogDirTopic(name=topic, partitions=tuple(indexes))
                    for topic, indexes in by_topic(partitions).items()
                ),
            )
            for path, partitions in by_path.items()
        )
    )
    answer = await admin.router.command(request, BrokerTarget(broker_id), repeatable=True)
    results = (
        (str(TopicPartition(topic.topic_name, partition.partition_index)), partition)
        for topic in answer.response.results
        for partition in topic.partitions
    )
    return answer.outcomes(results, map(str, paths))


async def _check_moves(admin: AdminSession, broker_id: int, paths: Mapping[TopicPartition, str]) -> Outcomes:
    """Return the errors that moves would have, and the replicas that are where they are to be."""
    topics = await describe_topics(admin, {partition.topic for partition in paths}) if paths else {}
    states = {path.path: path.error for path in await describe_log_dirs(admin, [broker_id])}
    dirs = await describe_replica_log_dirs(admin, broker_id, paths)
    outcomes: dict[str, AdminError | None] = {}
    for partition, path in paths.items():
        item, topic = str(partition), topics[partition.topic]
        if not isinstance(topic, TopicDescription):
            outcomes[item] = topic
            continue
        described = next((one for one in topic.partitions if one.partition == partition.partition), None)
        if described is None:
            outcomes[item] = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, item)
        elif path not in states:
            outcomes[item] = AdminError.of_kafka(ErrorCode.LOG_DIR_NOT_FOUND, item)
        elif states[path] is not None or broker_id in (described.offline_replicas or ()):
            # The broker answers, so that its replica is offline because a directory is: the target or its own.
            outcomes[item] = AdminError.of_kafka(ErrorCode.KAFKA_STORAGE_ERROR, item)
        else:
            outcomes[item] = None
    return Outcomes(outcomes, unchanged=(str(of) for of, path in paths.items() if dirs[of] == ReplicaDirs(path)))


async def wait_for_log_dirs(
    admin: AdminSession, broker_id: int, paths: Mapping[TopicPartition, str], *, timeout: float = 30.0
) -> set[TopicPartition]:
    """Wait until replicas of a broker are in these log directories, and return the replicas that arrive in time.

    A move takes the time that its broker needs to copy the log, so the end of the waiting time is not an error.

    Args:
        broker_id: the id of the broker.
        paths: the directory of each partition.
        timeout: seconds to wait.

    Raises:
        BrokerNotFound: no live broker has this id.
    """
    deadline = admin.router.metadata.clock() + timeout
    pause = FIRST_PAUSE
    while True:
        dirs = await describe_replica_log_dirs(admin, broker_id, paths)
        arrived = {partition for partition, path in paths.items() if dirs[partition].current == path}
        if len(arrived) == len(paths) or admin.router.metadata.clock() >= deadline:
            return arrived
        pause = await back_off(pause)
