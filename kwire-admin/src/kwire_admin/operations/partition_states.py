"""States of partitions by which `kafka topics describe --only` and the script `kafka-topics --describe` choose them."""

from __future__ import annotations

from enum import StrEnum

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode

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


def min_isr(topic: str, configs: Mapping[str, ConfigValue]) -> int | AdminError:
    """Return the config MIN_ISR of a topic; Kafka's default of 1 if the cluster does not report it.

    An error if a broker reports something else than a number.
    """
    config = configs.get(MIN_ISR)
    if config is None or config.value is None:
        return 1
    try:
        return int(config.value)
    except ValueError:
        text = f"the broker reports {MIN_ISR}={config.value}, which is not a number"
        return AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, topic, text)
