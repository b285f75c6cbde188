"""A snapshot and a request as arrays: the input of the planners.

Brokers are positions in `broker_ids`, partitions are rows. A row of `replicas` has the brokers of a partition, the
preferred leader first, padded with NONE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.errors import InvalidSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kwire_admin.reassignment.plan import PlanRequest
    from kwire_admin.reassignment.snapshot import ClusterSnapshot, PartitionSnapshot

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]

NONE = -1
MAX_REPLICAS = 1_000
"""Maximum number of replicas of a partition. Each row has as many columns as the longest of them, and whoever writes a
snapshot, or answers for a cluster, decides how many those are. Chosen: far above every replication factor."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The partitions in scope, and the brokers.

    Attributes:
        partitions: the partitions in scope, one a row.
        broker_ids: the ids of the brokers in ascending order.
        replicas: brokers by row; as many columns as the largest replication factor before and after.
        factors: the target replication factor by row.
        sizes: bytes by row; 0 if unknown.
        racks: the rack of each broker, a number.
        rack_count: the number of racks.
        rack_aware: true if there is a rack with more than one broker, so that racks matter.
        is_target: by broker, true if it may receive replicas: it is live and not drained.
        may_keep: by broker, true if its replicas may stay: it is not drained.
        base_counts: by broker, its replicas of partitions out of scope.
        base_bytes: by broker, the bytes of these replicas.
        base_leaders: by broker, the partitions out of scope that prefer it as leader.
    """

    partitions: Sequence[PartitionSnapshot]
    broker_ids: Ints
    replicas: Ints
    factors: Ints
    sizes: Ints
    racks: Ints
    rack_count: int
    rack_aware: bool
    is_target: Flags
    may_keep: Flags
    base_counts: Ints
    base_bytes: Ints
    base_leaders: Ints

    @property
    def brokers(self) -> int:
        """The number of brokers."""
        return len(self.broker_ids)

    @classmethod
    def of(cls, snapshot: ClusterSnapshot, request: PlanRequest) -> Placement:
        """Return the arrays for a request, which was checked before."""
        topics = {partition.topic for partition in snapshot.partitions}
        in_scope = {topic for topic in topics if request.in_scope(topic)}
        inside = [partition for partition in snapshot.partitions if partition.topic in in_scope]
        outside = [partition for partition in snapshot.partitions if partition.topic not in in_scope]
        ids = np.array([broker.id for broker in snapshot.brokers], dtype=np.int64)
        drained = np.array([broker.id in request.drain for broker in snapshot.brokers])
        live = np.array([broker.is_live for broker in snapshot.brokers])
        racks, rack_count = _racks(snapshot, aware=request.rack_aware)
        factor = request.replication_factor
        factors = np.array([factor or len(partition.replicas) for partition in inside], dtype=np.int64)
        width = max([1, int(factors.max(initial=0)), *(len(partition.replicas) for partition in inside)])
        outer = _matrix(outside, ids, max([1, *(len(partition.replicas) for partition in outside)]))
        return cls(
            partitions=inside,
            broker_ids=ids,
            replicas=_matrix(inside, ids, width),
            factors=factors,
            sizes=_sizes(inside),
            racks=racks,
            rack_count=rack_count,
            rack_aware=rack_count < len(ids),
            is_target=live & ~drained,
            may_keep=~drained,
            base_counts=counts_of(outer, len(ids)),
            base_bytes=counts_of(outer, len(ids), _sizes(outside)),
            base_leaders=counts_of(outer[:, :1], len(ids)),
        )


def counts_of(replicas: Ints, brokers: int, weights: Ints | None = None) -> Ints:
    """Return the number of entries of `replicas` by broker, or the sum of the weights of their rows."""
    present = replicas != NONE
    if weights is None:
        return np.bincount(replicas[present], minlength=brokers).astype(np.int64)
    repeated = np.broadcast_to(weights[:, None], replicas.shape)[present]
    # Sums of floats are exact up to 2**53 bytes, 8 PiB.
    return np.bincount(replicas[present], weights=repeated, minlength=brokers).astype(np.int64)


def _sizes(partitions: Sequence[PartitionSnapshot]) -> Ints:
    return np.array([partition.size or 0 for partition in partitions], dtype=np.int64)


def _matrix(partitions: Sequence[PartitionSnapshot], ids: Ints, width: int) -> Ints:
    """Return the positions of brokers by row.

    Raises:
        InvalidSnapshot: a partition has more replicas than a row of all partitions may have.
    """
    longest = max(partitions, key=lambda partition: len(partition.replicas), default=None)
    if longest is not None and len(longest.replicas) > MAX_REPLICAS:
        text = f"{longest.topic}-{longest.partition} has {len(longest.replicas)} replicas, more than {MAX_REPLICAS}"
        raise InvalidSnapshot(text)
    lengths = np.fromiter((len(partition.replicas) for partition in partitions), dtype=np.int64, count=len(partitions))
    flat = np.fromiter(
        (broker for partition in partitions for broker in partition.replicas), dtype=np.int64, count=int(lengths.sum())
    )
    matrix = np.full((len(partitions), width), NONE, dtype=np.int64)
    matrix[np.arange(width) < lengths[:, None]] = np.searchsorted(ids, flat)
    return matrix


def _racks(snapshot: ClusterSnapshot, *, aware: bool) -> tuple[Ints, int]:
    """Return the rack number of each broker, and the number of racks."""
    numbers: dict[object, int] = {}
    racks = [
        numbers.setdefault(broker.rack if aware and broker.rack is not None else (broker.id,), len(numbers))
        for broker in snapshot.brokers
    ]
    return np.array(racks, dtype=np.int64), len(numbers)
