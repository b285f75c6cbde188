"""Problems of a plan and of its cluster before the first move, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire_admin.reassignment.execution.health import listed, unexplained_partitions

if TYPE_CHECKING:
    from kwire_admin.reassignment.assignment_file import AssignmentFile
    from kwire_admin.reassignment.snapshot import ClusterSnapshot

__all__ = ["cluster_problems", "invalid_targets", "stale_parts"]


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
