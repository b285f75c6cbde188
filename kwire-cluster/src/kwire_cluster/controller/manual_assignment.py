"""Replica assignments that a client specifies: parsing and validation.

All functions are pure and raise CommandError 1005, with the partition in the reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.zookeeper.json_object import intern_ids

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kwire.messages.kip4.structures import PartitionReplicas
    from kwire_cluster.controller.topic_state import Topic

_BROKER = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
_MAX_BROKER_ID = 0x7FFF_FFFF


def parse(text: str) -> dict[int, tuple[int, ...]]:
    """Parse an assignment such as `1:2,2:1`: replicas separated by colons, partitions by commas."""
    assigned = {}
    for partition, replicas in enumerate(text.split(",")):
        brokers = replicas.split(":")
        if any(_BROKER.fullmatch(broker) is None or int(broker) > _MAX_BROKER_ID for broker in brokers):
            raise _error(partition, f"expected broker ids separated by colons, found {replicas[:60]!r}")
        assigned[partition] = intern_ids(tuple(map(int, brokers)))
    return assigned


def by_partition(assignment: Iterable[PartitionReplicas]) -> dict[int, tuple[int, ...]]:
    """Return the replicas of a message by partition, in ascending order. No partition may be listed twice."""
    assigned: dict[int, tuple[int, ...]] = {}
    for one in assignment:
        if one.partition_id in assigned:
            raise _error(one.partition_id, "is listed more than once")
        assigned[one.partition_id] = intern_ids(one.replica_ids)
    return dict(sorted(assigned.items()))


def check_created(assigned: Mapping[int, tuple[int, ...]]) -> None:
    """Check the assignment of a new topic.

    The partition ids must be consecutive from 0, and all partitions must have the same number of replicas. The brokers
    need not be alive, but `check_known` refuses brokers that never existed.
    """
    for expected, partition in enumerate(sorted(assigned)):
        if partition != expected:
            raise _error(expected, "is missing: partition ids must be consecutive from 0")
    for partition, replicas in assigned.items():
        _check_replicas(partition, replicas)
    _check_factor(assigned, len(next(iter(assigned.values()))))


def check_known(assigned: Mapping[int, tuple[int, ...]], live: Collection[int], topics: Iterable[Topic]) -> None:
    """Check that the brokers of a new topic are live, or hold replicas and are only down.

    A topic on a broker that never existed has no leader and never gets one, and a wrong digit is easily typed.
    """
    down = {broker for replicas in assigned.values() for broker in replicas if broker not in live}
    if down:
        down -= {broker for topic in topics for partition in topic.partitions for broker in partition.replicas}
    for partition, replicas in assigned.items():
        unknown = [broker for broker in replicas if broker in down]
        if unknown:
            raise _error(partition, f"brokers {unknown} are neither alive nor known from other topics")


def check_added(
    assigned: Mapping[int, tuple[int, ...]], next_partition: int, replication_factor: int, live: Collection[int]
) -> None:
    """Check the assignment of partitions to add: consecutive ids from `next_partition`, on live brokers."""
    for expected, partition in enumerate(sorted(assigned), next_partition):
        if partition != expected:
            raise _error(partition, f"does not follow the existing partitions: the next partition id is {expected}")
    check_targets(assigned, live)
    _check_factor(assigned, replication_factor)


def check_targets(assigned: Mapping[int, tuple[int, ...]], live: Collection[int]) -> None:
    """Check the target replicas of a reassignment: distinct live brokers."""
    for partition, replicas in assigned.items():
        _check_replicas(partition, replicas)
        dead = [broker for broker in replicas if broker not in live]
        if dead:
            raise _error(partition, f"brokers {dead} are not alive")


def _check_replicas(partition: int, replicas: tuple[int, ...]) -> None:
    if not replicas:
        raise _error(partition, "has no replicas")
    if len(set(replicas)) != len(replicas):
        raise _error(partition, f"lists a broker more than once: {list(replicas)}")
    if min(replicas) < 0:
        raise _error(partition, f"has an invalid broker id: {min(replicas)}")


def _check_factor(assigned: Mapping[int, tuple[int, ...]], replication_factor: int) -> None:
    for partition, replicas in assigned.items():
        if len(replicas) != replication_factor:
            raise _error(partition, f"has {counted(len(replicas), 'replica')}, expected {replication_factor}")


def _error(partition: int, reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, f"partition {partition}: {reason}")
