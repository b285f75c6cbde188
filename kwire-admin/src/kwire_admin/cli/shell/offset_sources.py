"""Committed offsets and ends of logs, of brokers and of other places where consumers keep offsets."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Protocol
from kwire.client.admin import LATEST, AdminError, PartitionOffset, TopicPartition
from kwire_admin.cli.shell.lag_history import CommittedPartition, Offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient

__all__ = ["NO_LOG", "OffsetSource", "committed_in_brokers", "with_log_ends"]

NO_LOG = "the nodes of this cluster hold no log, so the log end is -"


class OffsetSource(Protocol):
    """A place besides the brokers where consumers keep offsets: the part `zookeeper-offsets`.

    The part is called with the address of the place, or None to ask a broker for it.
    """

    async def committed(
        self, admin: AdminClient, topics: Sequence[str], groups: Sequence[str]
    ) -> dict[CommittedPartition, Offsets]:
        """Return committed offsets, without the ends of logs; empty if there is no such place.

        Raises:
            KwireError: the place or the cluster does not answer.
        """

    async def close(self) -> None:
        """Close the connection to the place."""


async def committed_in_brokers(
    admin: AdminClient, topics: Sequence[str], groups: Sequence[str]
) -> dict[CommittedPartition, Offsets]:
    """Return the offsets that groups have committed to brokers, with the ends of the logs.

    Args:
        topics: only these topics; empty for all.
        groups: only these groups; empty for all.

    Raises:
        KwireError: a broker does not answer.
    """
    # A group whose coordinator does not answer is left out: the next picture shows it again.
    offsets = {}
    for group, lag in (await admin.group_lags(groups or None)).items():
        if not isinstance(lag, AdminError):
            for partition in lag.partitions:
                if partition.committed is not None and (not topics or partition.topic in topics):
                    key = CommittedPartition(group, partition.topic, partition.partition, "brokers")
                    offsets[key] = Offsets(partition.committed, partition.end)
    return offsets


async def with_log_ends(
    admin: AdminClient, found: dict[CommittedPartition, Offsets]
) -> dict[CommittedPartition, Offsets]:
    """Return offsets of another place with the ends of the logs, as far as the brokers have logs.

    Raises:
        KwireError: a broker does not answer.
    """
    if admin.dialect != "kafka" or not found:
        return found
    partitions = {TopicPartition(key.topic, key.partition) for key in found}
    ends = await admin.list_offsets(dict.fromkeys(sorted(partitions), LATEST))
    completed = {}
    for key, offsets in found.items():
        end = ends[TopicPartition(key.topic, key.partition)]
        completed[key] = Offsets(offsets.committed, end.offset if isinstance(end, PartitionOffset) else None)
    return completed
