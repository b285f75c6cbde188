"""Goals and constraints of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kwire_admin.reassignment.errors import InvalidPlanRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_admin.reassignment.snapshot import ClusterSnapshot


class Balance(StrEnum):
    """Quantity that is distributed evenly over brokers."""

    COUNT = "count"
    SIZE = "size"
    LEADERS = "leaders"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """Goals and constraints.

    Attributes:
        balance: weights of the balanced quantities, above 0; without any, only forced moves are made. The heavier of
            count and size decides the brokers of replicas; the lighter is improved as far as the heavier allows.
        drain: brokers that are to have no replicas.
        replication_factor: the new replication factor of the topics in scope; None keeps each partition's.
        topics: patterns of the topics in scope, such as `orders-*`; all topics if there are none.
        exclude: patterns of topics that stay as they are, also on brokers that are drained.
        tolerance: maximum deviation of a broker's bytes from its target if sizes are balanced, as a fraction.
        disk_limit: the share of its disk that a broker may use after the plan.
        rack_aware: true if racks matter. A broker without a rack is a rack of its own.
    """

    balance: Mapping[Balance, float] = field(default_factory=dict)
    drain: frozenset[int] = frozenset()
    replication_factor: int | None = None
    topics: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tolerance: float = 0.05
    disk_limit: float = 0.85
    rack_aware: bool = True

    def in_scope(self, topic: str) -> bool:
        """Return whether partitions of a topic may move."""
        included = not self.topics or any(fnmatchcase(topic, pattern) for pattern in self.topics)
        return included and not any(fnmatchcase(topic, pattern) for pattern in self.exclude)

    def check(self, snapshot: ClusterSnapshot) -> None:
        """Check the request against a cluster.

        Raises:
            InvalidPlanRequest: a broker or topic does not exist, or a number is out of range.
        """
        broker_ids = {broker.id for broker in snapshot.brokers}
        if unknown := sorted(self.drain - broker_ids):
            raise InvalidPlanRequest(
                f"broker {', '.join(map(str, unknown))} does not exist: the cluster has {_listed(sorted(broker_ids))}"
            )
        names = {partition.topic for partition in snapshot.partitions}
        for pattern in (*self.topics, *self.exclude):
            if not any(fnmatchcase(name, pattern) for name in names):
                raise InvalidPlanRequest(f"no topic matches {pattern!r}")
        remaining = sum(broker.is_live and broker.id not in self.drain for broker in snapshot.brokers)
        if remaining == 0:
            raise InvalidPlanRequest("all live brokers are drained: at least one must remain")
        if self.replication_factor is not None and not 1 <= self.replication_factor <= remaining:
            raise InvalidPlanRequest(
                f"a replication factor is from 1 to {remaining}, the number of live brokers that are not drained, "
                f"not {self.replication_factor}"
            )
        if any(weight <= 0 for weight in self.balance.values()):
            raise InvalidPlanRequest("the weight of a goal must be above 0")
        if not 0 < self.tolerance < 1 or not 0 < self.disk_limit <= 1:
            raise InvalidPlanRequest("the tolerance must be between 0 and 1, and the disk limit above 0 and at most 1")
        if Balance.SIZE in self.balance and not snapshot.has_sizes:
            raise InvalidPlanRequest("the sizes of partitions are unknown: balance by count instead")


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids)) if len(ids) <= 20 else f"{len(ids)} brokers from {ids[0]} to {ids[-1]}"
