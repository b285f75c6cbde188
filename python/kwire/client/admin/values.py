"""What goes into an admin client's verbs, and what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kwire.client.admin.errors import AdminError

__all__ = [
    "ClusterDescription",
    "NewTopic",
    "Outcomes",
    "PartitionDescription",
    "Progress",
    "ReassignmentStatus",
    "ToolResult",
    "TopicChange",
    "TopicDescription",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create: ``partitions`` and ``replication_factor``, or an ``assignment``, which counts before them.

    ``assignment``: by partition, the brokers, the preferred leader first; partitions are numbered from 0.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """What to change of a topic. Settings first; then the first that is given of assignment, factor, partitions.

    ``partitions``: how many there shall be. ``assignment``: of the partitions named; others stay.
    """

    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    set_configs: Mapping[str, str] = field(default_factory=dict)
    delete_configs: Sequence[str] = ()


class Outcomes(Mapping[str, "AdminError | None"]):
    """By topic: None when the work was begun or done, else why not."""

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
        """Of the topics that were refused."""
        return {topic: error for topic, error in self._outcomes.items() if error is not None}

    def raise_first(self) -> None:
        """Raise the first error, if there is one."""
        for error in self.errors.values():
            raise error


class BrokerAddress(NamedTuple):
    """A live broker."""

    id: int
    host: str
    port: int


class ClusterDescription(NamedTuple):
    """``controller``: None while there is none."""

    brokers: tuple[BrokerAddress, ...]
    controller: BrokerAddress | None


class PartitionDescription(NamedTuple):
    """``leader``: None for none. ``replicas``: the preferred leader first."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class TopicDescription(NamedTuple):
    """``configs``: the settings that the topic overrides."""

    name: str
    partitions: tuple[PartitionDescription, ...]
    configs: Mapping[str, str]


class ReassignmentStatus(NamedTuple):
    """By partition: ``moving``, ``completed`` or ``failed``."""

    topic: str
    partitions: Mapping[int, str]
    error: AdminError | None


class ToolResult(NamedTuple):
    """What a tool printed on a broker, and how it ended: 0 for success."""

    exit_status: int
    output: str


class Progress(NamedTuple):
    """While waiting: of ``total`` pairs of broker and item, ``done`` are as they shall be."""

    done: int
    total: int
