"""Arguments of the operations that create and alter topics."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
