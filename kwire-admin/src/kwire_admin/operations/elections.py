"""Elections that no replica can win. They are refused without waiting: nodes of the drafts report nothing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.client.admin import PartitionDescription

__all__ = ["refusal"]


def refusal(item: str, partition: PartitionDescription, live: Collection[int], *, unclean: bool) -> AdminError | None:
    """Return the error of an election that no replica can win; None if one can.

    The last replica in sync stays in the ISR when its broker stops.

    Args:
        item: the subject of the error.
        partition: the partition without the leader that is asked for.
        live: the ids of the live brokers.
        unclean: true if any live replica may become the leader; false if only the preferred one in sync may.
    """
    if unclean:
        eligible, code = set(partition.replicas), ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        eligible -= set(partition.offline_replicas or ())
    else:
        eligible, code = set(partition.replicas[:1]) & set(partition.isr), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return None if eligible.intersection(live) else AdminError.of_kafka(code, item)
