"""Replica assignments that somebody wrote: the text of the topic tool, and what makes one acceptable.

Rules of this file: pure functions; what is wrong is a ``AdminError`` 1005 that names the partition.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.zookeeper.json_object import shared_ids
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kwire.messages.kip4.structures import PartitionReplicas

__all__ = ["by_partition", "check_added", "check_created", "check_targets", "parse"]

_BROKER = re.compile(r"\s*\d{1,10}\s*", re.ASCII)
_LARGEST = 0x7FFF_FFFF


def parse(text: str) -> dict[int, tuple[int, ...]]:
    """``1:2,2:1`` as replicas by partition: commas between partitions, colons between replicas (decision D26)."""
    assigned = {}
    for partition, replicas in enumerate(text.split(",")):
        brokers = replicas.split(":")
        if any(_BROKER.fullmatch(broker) is None or int(broker) > _LARGEST for broker in brokers):
            raise _refusal(partition, f"{replicas[:60]!r} is no list of broker ids with colons between them")
        assigned[partition] = shared_ids(tuple(map(int, brokers)))
    return assigned


def by_partition(assignment: Iterable[PartitionReplicas]) -> dict[int, tuple[int, ...]]:
    """The same from a message, in the order of partitions. No partition may be listed twice."""
    assigned: dict[int, tuple[int, ...]] = {}
    for one in assignment:
        if one.partition_id in assigned:
            raise _refusal(one.partition_id, "is listed twice")
        assigned[one.partition_id] = shared_ids(one.replica_ids)
    return dict(sorted(assigned.items()))


def check_created(assigned: Mapping[int, tuple[int, ...]]) -> None:
    """For a new topic: partitions from 0 on, all with equally many replicas. Brokers need not be alive."""
    for expected, partition in enumerate(sorted(assigned)):
        if partition != expected:
            raise _refusal(expected, "is missing: numbers begin with 0 and leave nothing out")
    for partition, replicas in assigned.items():
        _check_replicas(partition, replicas)
    _check_factor(assigned, len(next(iter(assigned.values()))))


def check_added(
    assigned: Mapping[int, tuple[int, ...]], next_partition: int, replication_factor: int, live: Collection[int]
) -> None:
    """For partitions that a topic is to have in addition: they go on from ``next_partition``, on live brokers."""
    for expected, partition in enumerate(sorted(assigned), next_partition):
        if partition != expected:
            raise _refusal(partition, f"does not go on from the partitions that there are: {expected} would")
    check_targets(assigned, live)
    _check_factor(assigned, replication_factor)


def check_targets(assigned: Mapping[int, tuple[int, ...]], live: Collection[int]) -> None:
    """For partitions that are to move: different live brokers."""
    for partition, replicas in assigned.items():
        _check_replicas(partition, replicas)
        dead = [broker for broker in replicas if broker not in live]
        if dead:
            raise _refusal(partition, f"brokers {dead} are not alive")


def _check_replicas(partition: int, replicas: tuple[int, ...]) -> None:
    if not replicas:
        raise _refusal(partition, "has no replicas")
    if len(set(replicas)) != len(replicas):
        raise _refusal(partition, f"names a broker twice: {list(replicas)}")
    if min(replicas) < 0:
        raise _refusal(partition, f"{min(replicas)} is no broker's id")


def _check_factor(assigned: Mapping[int, tuple[int, ...]], replication_factor: int) -> None:
    for partition, replicas in assigned.items():
        if len(replicas) != replication_factor:
            raise _refusal(partition, f"has {len(replicas)} replicas, others have {replication_factor}")


def _refusal(partition: int, reason: str) -> AdminError:
    return AdminError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, f"partition {partition}: {reason}")
