"""Health of a cluster before and during a reassignment: replicas out of sync, and slow brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire_admin.reassignment.plan import Move
    from kwire_admin.reassignment.snapshot import ClusterSnapshot, PartitionKey

__all__ = ["LatencyWatch", "unexplained_partitions"]

SHOWN = 3
"""Maximum number of partitions that a sentence names."""


def unexplained_partitions(
    snapshot: ClusterSnapshot, moves: Iterable[Move] = (), known: Collection[PartitionKey] = ()
) -> list[PartitionKey]:
    """Return partitions without a leader, or with replicas out of sync that the moves do not explain.

    A replica that is being added is out of sync until it has copied the log.

    Args:
        moves: the moves in progress.
        known: partitions that were in this state before the first move.
    """
    adding: Mapping[PartitionKey, tuple[int, ...]] = {move.key: move.added for move in moves}
    return [
        partition.key
        for partition in snapshot.partitions
        if partition.isr is not None
        and partition.key not in known
        and (
            partition.leader is None
            or any(
                broker not in partition.isr and broker not in adding.get(partition.key, ())
                for broker in partition.replicas
            )
        )
    ]


def listed(keys: Sequence[PartitionKey]) -> str:
    """Return partitions as text, at most a few of them."""
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return f"{', '.join(map(str, keys[:SHOWN]))}{more}"


class LatencyWatch:
    """Compares the latency of requests with the latency before the first move.

    Args:
        factor: threshold as a multiple of the latency before the first move.
        least: threshold in seconds; a lower latency is never too slow.
    """

    SAMPLES = 5
    """Number of measurements whose median counts; an odd number, so that the median is one of them."""

    def __init__(self, factor: float, least: float) -> None:
        self._factor = factor
        self._least = least
        self._before: dict[int, list[float]] = {}
        self._recent: dict[int, list[float]] = {}

    def add(self, latencies: Mapping[int, float], *, moving: bool) -> None:
        """Add a measurement.

        Args:
            latencies: seconds by broker.
            moving: true if moves were in progress; measurements before are the base.
        """
        for broker, seconds in latencies.items():
            samples = (self._recent if moving else self._before).setdefault(broker, [])
            samples.append(seconds)
            del samples[: -self.SAMPLES]

    def slow_brokers(self) -> dict[int, tuple[float, float]]:
        """Return the median latency now and before in seconds, by broker whose latency is over the threshold."""
        slow = {}
        for broker, recent in self._recent.items():
            before = sorted(self._before.get(broker, [0.0]))
            base, now = before[len(before) // 2], sorted(recent)[len(recent) // 2]
            if len(recent) == self.SAMPLES and now > max(self._least, self._factor * base):
                slow[broker] = (now, base)
        return slow
