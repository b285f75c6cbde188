"""Limits on the number of partitions: of a topic, of a request, and of the cluster.

Every partition takes two znodes, and ZooKeeper keeps all znodes in memory, so requests without a limit can exhaust it.
Source: Kafka's `ReplicationControlManager` limits a request to 10,000 partitions as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError

if TYPE_CHECKING:
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.cluster_state import Cluster

__all__ = ["MAX_PARTITIONS", "PartitionBudget", "check_partition_count"]

MAX_PARTITIONS = 50_000
"""Partitions of one topic: with three replicas each, its registration just fits into a ZooKeeper packet."""


def check_partition_count(partitions: int) -> None:
    """Raise CommandError 1002 for a number of partitions that a topic cannot have."""
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise _error(f"invalid number of partitions {partitions:,}: a topic has 1 to {MAX_PARTITIONS:,} partitions")


class PartitionBudget:
    """The partitions that one request may still create. Topics that are rejected use up nothing.

    Args:
        settings: the limits, `admin.request.max.partitions` and `admin.cluster.max.partitions`.
    """

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._created = 0

    def check(self, partitions: int, cluster: Cluster) -> None:
        """Raise CommandError 1002 if this number of further partitions exceeds a limit."""
        created = self._created + partitions
        if created > (limit := self._settings.max_request_partitions):
            raise _error(f"the request creates {created:,} partitions: at most {limit:,} are allowed in one request")
        total = cluster.topics.partition_count + partitions
        if total > (limit := self._settings.max_partitions):
            raise _error(
                f"the cluster would have {total:,} partitions: at most {limit:,} are allowed, so delete topics first"
            )

    def take(self, partitions: int) -> None:
        """Count partitions that the request creates."""
        self._created += partitions


def _error(reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
