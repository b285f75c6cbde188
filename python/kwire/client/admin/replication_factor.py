"""The replicas of partitions after a change of the replication factor."""

from __future__ import annotations

from collections import Counter

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin.values import BrokerAddress, PartitionDescription


def with_replication_factor(
    partitions: Sequence[PartitionDescription], brokers: Sequence[BrokerAddress], factor: int
) -> Mapping[int, tuple[int, ...]]:
    """Return the new replicas of the partitions that do not have `factor` replicas yet.

    Replicas stay where they are, in their order, so that the preferred leader stays. New replicas go to live brokers in
    racks without a replica first, then to those with the fewest replicas. Replicas that are removed are those out of
    sync first, then replicas that share a rack, then the last ones.

    Args:
        partitions: all partitions of the topic.
        brokers: the live brokers.
        factor: the number of replicas, at least 1.

    Raises:
        ValueError: the factor is below 1 or above the number of live brokers.
    """
    if not 1 <= factor <= len(brokers):
        raise ValueError(f"a replication factor is from 1 to {len(brokers)}, the number of live brokers, not {factor}")
    racks = {broker.id: broker.rack for broker in brokers}
    used = Counter(replica for partition in partitions for replica in partition.replicas)
    changed: dict[int, tuple[int, ...]] = {}
    for partition in partitions:
        replicas = list(partition.replicas)
        while len(replicas) < factor:
            added = min(
                (broker for broker in racks if broker not in replicas),
                key=lambda broker: (_shares_rack(broker, replicas, racks), used[broker], broker),
            )
            replicas.append(added)
            used[added] += 1
        while len(replicas) > factor:
            removed = max(
                range(1, len(replicas)),
                key=lambda position: (
                    replicas[position] not in partition.isr,
                    _shares_rack(replicas[position], replicas, racks),
                    position,
                ),
            )
            used[replicas.pop(removed)] -= 1
        if tuple(replicas) != partition.replicas:
            changed[partition.partition] = tuple(replicas)
    return changed


def _shares_rack(broker: int, replicas: Sequence[int], racks: Mapping[int, str | None]) -> bool:
    rack = racks.get(broker)
    return rack is not None and any(racks.get(other) == rack for other in replicas if other != broker)
