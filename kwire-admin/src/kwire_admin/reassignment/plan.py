"""Plans: goals and constraints of a request, moves, loads before and after, and the distance to the optimum."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.reassignment.assignment_file import AssignmentFile
from kwire_admin.reassignment.errors import InvalidPlanRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.group_values import TopicPartition
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


class Move(NamedTuple):
    """New replicas of a partition.

    Attributes:
        key: the partition.
        before: its replicas now, the preferred leader first.
        after: its replicas after the move.
        size: bytes of its log; None if unknown.
        leader: the broker that leads it now; None if no broker does.
    """

    key: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]
    size: int | None
    leader: int | None

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that receive a replica."""
        return tuple(replica for replica in self.after if replica not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        """The brokers that lose their replica."""
        return tuple(replica for replica in self.before if replica not in self.after)

    @property
    def data(self) -> int:
        """Bytes that are copied; 0 if the size is unknown."""
        return (self.size or 0) * len(self.added)

    @property
    def source(self) -> int:
        """The broker that new replicas copy from: the leader, or the preferred one if no broker leads."""
        return self.before[0] if self.leader is None else self.leader


class Proof(NamedTuple):
    """The distance of a plan to the optimum.

    Attributes:
        measure: the unit of `moved` and `bound`: `replicas` or `bytes`.
        moved: the amount that the plan copies.
        bound: a lower bound of `moved` for all plans with the same goals.
        balanced: true if every broker is within the bounds of the goal.
    """

    measure: str
    moved: int
    bound: int
    balanced: bool

    @property
    def ratio(self) -> float:
        """The amount moved divided by the bound; 1.0 for an optimal plan."""
        return self.moved / self.bound if self.bound else 1.0 if not self.moved else float("inf")

    @property
    def is_optimal(self) -> bool:
        """True if the plan moves no more than the bound."""
        return self.moved <= self.bound


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """The load of a broker before and after a plan.

    Attributes:
        broker: the broker id.
        rack: its rack; None if it has none.
        replicas: replicas now.
        replicas_after: replicas after the plan.
        leaders: partitions that prefer it as leader now.
        leaders_after: the same after the plan.
        size: bytes of its replicas now; None if sizes are unknown.
        size_after: bytes after the plan.
        incoming: bytes that it receives.
    """

    broker: int
    rack: str | None
    replicas: int
    replicas_after: int
    leaders: int
    leaders_after: int
    size: int | None
    size_after: int | None
    incoming: int | None


@dataclass(frozen=True, slots=True)
class BrokerCourse:
    """The load of a broker during a plan.

    Attributes:
        broker: its id.
        sent: bytes that it sends.
        received: bytes that it receives.
        peak_out: the largest rate at which it sends, in bytes a second.
        peak_in: the largest rate at which it receives.
        peak_extra: the most bytes that it stores in addition to what it had, while old replicas still exist.
    """

    broker: int
    sent: int = field(metadata={"unit": "bytes"})
    received: int = field(metadata={"unit": "bytes"})
    peak_out: int = field(metadata={"unit": "bytes"})
    peak_in: int = field(metadata={"unit": "bytes"})
    peak_extra: int = field(metadata={"unit": "bytes"})


@dataclass(frozen=True)
class Plan:
    """A plan.

    Attributes:
        snapshot: the cluster that it was made for.
        moves: the partitions that change, in order of topic and index.
        proof: its distance to the optimum; None for a plan that was read from a file.
        notes: sentences about goals that were not reached.
    """

    snapshot: ClusterSnapshot
    moves: tuple[Move, ...]
    proof: Proof | None = None
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> int:
        """Bytes that are copied, without partitions of unknown size."""
        return sum(move.data for move in self.moves)

    @property
    def replicas_added(self) -> int:
        """Number of replicas that are copied."""
        return sum(len(move.added) for move in self.moves)

    def file(self) -> AssignmentFile:
        """Return the content of the file of the plan."""
        return AssignmentFile(
            {move.key: move.after for move in self.moves},
            {move.key: move.before for move in self.moves},
            self.snapshot.cluster_id,
        )

    def rollback(self) -> AssignmentFile:
        """Return the content of the file that undoes the plan."""
        return AssignmentFile(
            {move.key: move.before for move in self.moves},
            {move.key: move.after for move in self.moves},
            self.snapshot.cluster_id,
        )

    @cached_property
    def loads(self) -> tuple[BrokerLoad, ...]:
        """The loads of brokers, in ascending order of id."""
        replicas: Counter[int] = Counter()
        leaders: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        for partition in self.snapshot.partitions:
            replicas.update(partition.replicas)
            leaders[partition.replicas[0]] += 1
            for broker in partition.replicas:
                sizes[broker] += partition.size or 0
        replicas_after, leaders_after, sizes_after = replicas.copy(), leaders.copy(), sizes.copy()
        incoming: Counter[int] = Counter()
        # Only moved partitions change, so the loads after the plan are corrections of those before.
        for move in self.moves:
            for ids, sign in ((move.before, -1), (move.after, 1)):
                leaders_after[ids[0]] += sign
                for broker in ids:
                    replicas_after[broker] += sign
                    sizes_after[broker] += sign * (move.size or 0)
            for broker in move.added:
                incoming[broker] += move.size or 0
        sized = self.snapshot.has_sizes
        return tuple(
            BrokerLoad(
                broker,
                member.rack,
                replicas[broker],
                replicas_after[broker],
                leaders[broker],
                leaders_after[broker],
                sizes[broker] if sized else None,
                sizes_after[broker] if sized else None,
                incoming[broker] if sized else None,
            )
            for member in self.snapshot.brokers
            for broker in (member.id,)
        )


def moves_of(snapshot: ClusterSnapshot, targets: Mapping[TopicPartition, tuple[int, ...]]) -> tuple[Move, ...]:
    """Return the moves to reach targets; partitions that have them already, or do not exist, are left out."""
    states = ((key, snapshot.by_key.get(key), after) for key, after in sorted(targets.items()))
    return tuple(
        Move(key, state.replicas, after, state.size, state.leader)
        for key, state, after in states
        if state is not None and state.replicas != after
    )


def by_topic(partitions: Mapping[TopicPartition, tuple[int, ...]]) -> dict[str, dict[int, tuple[int, ...]]]:
    """Return values by topic and index."""
    nested: dict[str, dict[int, tuple[int, ...]]] = {}
    for key, value in partitions.items():
        nested.setdefault(key.topic, {})[key.partition] = value
    return nested


def partitions_by_topic(keys: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the indexes of partitions by topic."""
    nested: dict[str, list[int]] = {}
    for key in keys:
        nested.setdefault(key.topic, []).append(key.partition)
    return nested
