"""States of partitions by which `kafka topics describe --only` and the script `kafka-topics --describe` choose them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import ConfigValue, PartitionDescription

__all__ = ["MIN_ISR", "PartitionTrouble", "min_isr"]

MIN_ISR = "min.insync.replicas"
"""The config of a topic: producers with acks=all are refused while fewer replicas are in sync."""


class PartitionTrouble(StrEnum):
    """A state that needs the attention of an operator."""

    UNDER_REPLICATED = "under-replicated"
    OFFLINE = "offline"
    NOT_PREFERRED = "not-preferred"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"

    @property
    def needs_min_isr(self) -> bool:
        """True if the config MIN_ISR of the topic decides."""
        return self in (PartitionTrouble.UNDER_MIN_ISR, PartitionTrouble.AT_MIN_ISR)

    def matches(self, partition: PartitionDescription, min_isr: int) -> bool:
        """Return whether a partition is in this state.

        Args:
            min_isr: the config MIN_ISR of its topic; any number unless `needs_min_isr`.
        """
        match self:
            case PartitionTrouble.UNDER_REPLICATED:
                return len(partition.isr) < len(partition.replicas)
            case PartitionTrouble.OFFLINE:
                return partition.leader is None
            case PartitionTrouble.NOT_PREFERRED:
                return bool(partition.replicas) and partition.leader != partition.replicas[0]
            case PartitionTrouble.UNDER_MIN_ISR:
                return len(partition.isr) < min_isr
        return len(partition.isr) == min_isr


def min_isr(configs: Mapping[str, ConfigValue]) -> int:
    """Return the config MIN_ISR of a topic; Kafka's default of 1 if the cluster does not report it."""
    config = configs.get(MIN_ISR)
    return 1 if config is None else int(config.value or 1)
