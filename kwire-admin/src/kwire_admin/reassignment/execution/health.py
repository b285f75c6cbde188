"""Health of a cluster: problems before the first move, replicas out of sync, and slow brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import TopicPartition
    from kwire_admin.reassignment.assignment_file import AssignmentFile
    from kwire_admin.reassignment.plan import Move
    from kwire_admin.reassignment.snapshot import ClusterSnapshot


def invalid_targets(file: AssignmentFile, snapshot: ClusterSnapshot) -> list[str]:
    """Return reasons that forbid a plan on a cluster, even with `--force`."""
    problems = []
    if file.cluster_id is not None and file.cluster_id != snapshot.cluster_id:
        problems.append(f"the plan is for cluster {file.cluster_id}, and this is cluster {snapshot.cluster_id}")
    brokers = {broker.id: broker for broker in snapshot.brokers}
    used = sorted({broker for ids in file.targets.values() for broker in ids})
    if unknown := [broker for broker in used if broker not in brokers]:
        problems.append(f"broker {', '.join(map(str, unknown))} does not exist")
    present = {
        broker for key, ids in file.targets.items() if (state := snapshot.by_key.get(key)) for broker in state.replicas
    }
    down = [
        broker_id
        for broker_id in used
        if broker_id in brokers and not brokers[broker_id].is_live and broker_id not in present
    ]
    if down:
        problems.append(f"broker {', '.join(map(str, down))} is down")
    return problems


def stale_parts(file: AssignmentFile, snapshot: ClusterSnapshot) -> list[str]:
    """Return the differences between the cluster and the cluster that was planned for."""
    problems = []
    if missing := [key for key in file.targets if key not in snapshot.by_key]:
        problems.append(f"the plan moves partitions that do not exist any more: {listed(missing)}")
    # Another order is accepted: a cancelled reassignment leaves its partitions in another order.
    changed = [
        key
        for key, before in file.previous.items()
        if (state := snapshot.by_key.get(key)) is not None
        and set(state.replicas) not in (set(before), set(file.targets.get(key, ())))
    ]
    if changed:
        problems.append(f"replicas have changed since the plan was made: {listed(changed)}")
    return problems


def cluster_problems(snapshot: ClusterSnapshot, moving: int) -> list[str]:
    """Return reasons against the first move on a cluster that is not healthy.

    Args:
        moving: partitions that are being reassigned already.
    """
    problems = []
    if moving:
        problems.append(f"{counted(moving, 'partition')} {'is' if moving == 1 else 'are'} being reassigned already")
    if down := [broker.id for broker in snapshot.brokers if not broker.is_live]:
        problems.append(f"broker {', '.join(map(str, down))} is down")
    offline = [partition.key for partition in snapshot.partitions if partition.leader is None]
    if offline:
        problems.append(f"partitions have no leader: {listed(offline)}")
    behind = [key for key in unexplained_partitions(snapshot) if key not in set(offline)]
    if behind:
        problems.append(f"partitions are under-replicated: {listed(behind)}")
    return problems


SHOWN = 3
"""Maximum number of partitions that a sentence names."""


def unexplained_partitions(
    snapshot: ClusterSnapshot, moves: Iterable[Move] = (), known: Collection[TopicPartition] = ()
) -> list[TopicPartition]:
    """Return partitions without a leader, or with replicas out of sync that the moves do not explain.

    A replica that is being added is out of sync until it has copied the log.

    Args:
        moves: the moves in progress.
        known: partitions that were in this state before the first move.
    """
    adding: Mapping[TopicPartition, tuple[int, ...]] = {move.key: move.added for move in moves}
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


def listed(keys: Sequence[TopicPartition]) -> str:
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
