"""Arguments and results of the admin client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwire.client.admin.errors import AdminError

__all__ = [
    "BrokerAddress",
    "ClusterDescription",
    "NewTopic",
    "Outcomes",
    "PartitionDescription",
    "Progress",
    "ReassignmentState",
    "ReassignmentStatus",
    "ToolResult",
    "TopicChange",
    "TopicDescription",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create.

    Attributes:
        partitions: how many partitions; None for the default of the cluster.
        replication_factor: how many replicas; None for the default of the cluster.
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


class Outcomes(Mapping[str, "AdminError | None"]):
    """The result of a command by topic: None if it was accepted, otherwise the error."""

    def __init__(self, outcomes: Mapping[str, AdminError | None]) -> None:
        self._outcomes = dict(outcomes)

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

    def raise_first(self) -> None:
        """Raise the first error, if there is one."""
        for error in self.errors.values():
            raise error


class BrokerAddress(NamedTuple):
    """The address of a live broker."""

    id: int
    host: str
    port: int


class ClusterDescription(NamedTuple):
    """The live brokers and the controller, which is None during an election."""

    brokers: tuple[BrokerAddress, ...]
    controller: BrokerAddress | None


class PartitionDescription(NamedTuple):
    """A partition. `leader` is None if it has none; `replicas` has the preferred leader first."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class TopicDescription(NamedTuple):
    """A topic with the configs that it overrides."""

    name: str
    partitions: tuple[PartitionDescription, ...]
    configs: Mapping[str, str]


class ReassignmentState(StrEnum):
    """The state of the reassignment of a partition."""

    MOVING = "moving"
    COMPLETED = "completed"
    FAILED = "failed"


class ReassignmentStatus(NamedTuple):
    """The reassignment of a topic.

    Attributes:
        topic: the name of the topic.
        partitions: a ReassignmentState by partition; the number of a state that this client does not know.
        error: why the status is unknown; None if it is known.
    """

    topic: str
    partitions: Mapping[int, str]
    error: AdminError | None


class ToolResult(NamedTuple):
    """The exit status of a tool on a broker, and what it printed."""

    exit_status: int
    output: str


class Progress(NamedTuple):
    """How many pairs of broker and topic are complete while waiting for a change."""

    done: int
    total: int
