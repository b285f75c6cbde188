"""Progress of moves: bytes copied to new replicas, and total bytes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.reassignment.snapshot import PartitionKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin.admin_client import AdminClient

__all__ = ["MoveProgress", "read_progress"]


class MoveProgress(NamedTuple):
    """The progress of a partition.

    Attributes:
        done: bytes copied to the added replicas.
        total: bytes of the complete replicas.
    """

    done: int
    total: int


async def read_progress(
    admin: AdminClient, adding: Mapping[PartitionKey, tuple[int, ...]]
) -> dict[PartitionKey, MoveProgress]:
    """Return the progress by partition.

    Partitions are left out if their progress is not known: a broker that receives one does not answer, or no broker
    with a complete replica does.

    Args:
        adding: the brokers that receive replicas, by partition.
    """
    log_dirs = await admin.describe_log_dirs(unanswered={})
    answered = {log_dir.broker for log_dir in log_dirs}
    totals: dict[PartitionKey, int] = defaultdict(int)
    received: dict[PartitionKey, list[int]] = defaultdict(list)
    for log_dir in log_dirs:
        for replica in log_dir.replicas:
            key = PartitionKey(replica.topic, replica.partition)
            if log_dir.broker in adding.get(key, ()):
                received[key].append(replica.size)
            elif key in adding:
                totals[key] = max(totals[key], replica.size)
    return {
        key: MoveProgress(sum(min(size, totals[key]) for size in received[key]), totals[key] * len(brokers))
        for key, brokers in adding.items()
        if key in totals and answered >= {*brokers}
    }
