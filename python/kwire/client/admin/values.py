"""Results of the admin client, the arguments that create and alter topics, and names that are numbers on the wire."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.client.admin.errors import AdminError


@dataclass(frozen=True, slots=True)
class ShadowedConfig:
    """A setting of a node that overrides a stored setting.

    Attributes:
        node: the id of the node.
        name: the name of the setting; None if the node did not answer.
        value: the value that the node uses; None if it is secret, or the node did not answer.
        source: the layer of the value, such as `file`; None if the node did not answer.
        error: the reason why the node did not answer; None if it did.
    """

    node: int
    name: str | None
    value: str | None
    source: str | None
    error: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"node {self.node}: {self.error}"
        return f"node {self.node}: {self.name}={self.value} ({self.source})"


class Outcomes(Mapping[str, "AdminError | None"]):
    """The result of a command by item, such as a topic: None if it was accepted, otherwise the error.

    Attributes:
        attempts: number of times that the request was sent. All tries but the last one had no effect, or the same.
        shadowed: settings that are stored by a change of configs, but that the files of nodes override.
        unchanged: accepted items that were as requested before.
    """

    def __init__(
        self,
        outcomes: Mapping[str, AdminError | None],
        attempts: int = 1,
        shadowed: Sequence[ShadowedConfig] = (),
        unchanged: Iterable[str] = (),
    ) -> None:
        self._outcomes = dict(outcomes)
        self.attempts = attempts
        self.shadowed = tuple(shadowed)
        self.unchanged = frozenset(unchanged)

    def __getitem__(self, topic: str) -> AdminError | None:
        return self._outcomes[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __repr__(self) -> str:
        return f"Outcomes({self._outcomes!r})"

    @property
    def errors(self) -> dict[str, AdminError]:
        """The errors by topic."""
        return {topic: error for topic, error in self._outcomes.items() if error is not None}

    def without(self, items: Collection[str]) -> Outcomes:
        """Return the outcomes of the other items."""
        others = {item: error for item, error in self._outcomes.items() if item not in items}
        return Outcomes(others, self.attempts, self.shadowed, self.unchanged.difference(items))

    def raise_first(self) -> None:
        """Raise the first error, if there is one."""
        for error in self.errors.values():
            raise error


NO_LAG: Mapping[int, int | None] = MappingProxyType({})
"""The lag of the replicas of a partition if it was not requested."""


class BrokerAddress(NamedTuple):
    """The address of a live broker, and its rack if it has one."""

    id: int
    host: str
    port: int
    rack: str | None = None


class ClusterDescription(NamedTuple):
    """The live brokers, the controller, and the cluster id.

    Attributes:
        brokers: in the order of the response.
        controller: None during an election. A KRaft cluster names a random broker, which forwards commands; see
            `active_controller`.
        cluster_id: None if the broker does not report it, as nodes of earlier versions.
    """

    brokers: tuple[BrokerAddress, ...]
    controller: BrokerAddress | None
    cluster_id: str | None = None


class PartitionDescription(NamedTuple):
    """A partition.

    Attributes:
        partition: the index of the partition.
        leader: the broker that leads it; None if no broker does.
        replicas: its brokers, the preferred leader first.
        isr: the replicas that are in sync.
        leader_epoch: number of elections so far; None if the broker does not report it.
        offline_replicas: the replicas that are not available; None if the broker does not report them.
        lag: by replica, how many messages it is behind, None if unknown. Empty if it was not requested.
        error: the error that the broker reports for the partition, such as a missing leader.
    """

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int | None = None
    offline_replicas: tuple[int, ...] | None = None
    lag: Mapping[int, int | None] = NO_LAG
    error: AdminError | None = None


class TopicListing(NamedTuple):
    """The size of a topic, in a list of all topics.

    Attributes:
        name: the name of the topic.
        partitions: the number of partitions.
        replication_factor: the number of replicas of the first partition; None for a topic without partitions.
        is_internal: True if Kafka itself uses the topic, such as `__consumer_offsets`.
    """

    name: str
    partitions: int
    replication_factor: int | None
    is_internal: bool


class TopicDescription(NamedTuple):
    """A topic.

    Attributes:
        name: the name of the topic.
        partitions: its partitions in ascending order.
        configs: the configs that the topic overrides; None if they were not requested, the user cannot see them, or the
            cluster does not report any.
        topic_id: the id of the topic (KIP-516); None if the broker does not report it.
        is_internal: True if Kafka itself uses the topic, such as `__consumer_offsets`.
    """

    name: str
    partitions: tuple[PartitionDescription, ...]
    configs: Mapping[str, str] | None = None
    topic_id: UUID | None = None
    is_internal: bool = False

    @property
    def listing(self) -> TopicListing:
        """The size of the topic."""
        factor = len(self.partitions[0].replicas) if self.partitions else None
        return TopicListing(self.name, len(self.partitions), factor, self.is_internal)


class EligibleLeaders(NamedTuple):
    """Replicas outside of the ISR that can lead a partition (KIP-966), because they have every committed record.

    Attributes:
        eligible: the replicas that can lead now; None if the broker does not report them.
        last_known: the replicas that could lead last; None if the broker does not report them.
    """

    eligible: tuple[int, ...] | None
    last_known: tuple[int, ...] | None


class ReassignmentState(StrEnum):
    """The state of the reassignment of a partition."""

    MOVING = "moving"
    COMPLETED = "completed"
    FAILED = "failed"


class PartitionMove(NamedTuple):
    """The replicas of a partition that is being reassigned, and which of them are added and removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReassignmentStatus(NamedTuple):
    """The reassignment of a topic.

    Attributes:
        topic: the name of the topic.
        partitions: a ReassignmentState by partition; the number of a state that this client does not know.
        error: the reason why the status is unknown; None if it is known.
        moves: by partition that is moving, its replicas. Empty in the dialect of the KIP-4 drafts, which lack them.
    """

    topic: str
    partitions: Mapping[int, str]
    error: AdminError | None
    moves: Mapping[int, PartitionMove] = MappingProxyType({})


class ToolResult(NamedTuple):
    """The exit status of a tool on a broker, and what it printed."""

    exit_status: int
    output: str


class Progress(NamedTuple):
    """Number of complete pairs of broker and topic while waiting for a change, and the number of all pairs."""

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create.

    Attributes:
        partitions: number of partitions; None for the default of the cluster.
        replication_factor: number of replicas of each partition; None for the default of the cluster.
        assignment: the brokers of each partition, the preferred leader first. It replaces both numbers.
        configs: the configs of the topic.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """Changes of a topic.

    Configs are changed first; then the first of assignment, replication factor, and partitions that is given.

    Attributes:
        partitions: the new number of partitions.
        replication_factor: the new number of replicas.
        assignment: the brokers of the partitions to move. Other partitions stay.
        set_configs: configs to set.
        delete_configs: names of configs to delete.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    set_configs: Mapping[str, str] = field(default_factory=dict)
    delete_configs: Sequence[str] = ()

    @property
    def is_of_configs_only(self) -> bool:
        """True if neither partitions nor replicas change."""
        return self.partitions is None and self.replication_factor is None and not self.assignment


class CodedName(StrEnum):
    """A name of Kafka with its number on the wire. Number 0 is `UNKNOWN` and stands for all numbers without a name."""

    code: int

    def __new__(cls, name: str, code: int) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.code = code
        return member

    @property
    def camel_case(self) -> str:
        """The name as Kafka's tools print it and ZooKeeper has it, such as `DescribeConfigs`."""
        return "".join(word.capitalize() for word in self.value.split("_"))

    @classmethod
    def of_code(cls, code: int) -> Self:
        """Return the name for a number, and the name of 0 for an unknown number."""
        names = {member.code: member for member in cls}
        return names.get(code, names[0])
