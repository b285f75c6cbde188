"""Snapshots of clusters that do not exist, the same ones for the same arguments."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING

from kwire_admin.reassignment import BrokerSnapshot, ClusterSnapshot, PartitionSnapshot

if TYPE_CHECKING:
    from collections.abc import Collection

GIB = 2**30


def random_snapshot(
    partitions: int,
    brokers: int,
    factor: int = 3,
    *,
    racks: int = 0,
    empty: int = 0,
    down: Collection[int] = (),
    seed: int = 7,
) -> ClusterSnapshot:
    """Return a cluster with replicas on random brokers, spread over racks.

    Args:
        racks: number of racks; 0 for brokers without racks.
        empty: number of brokers without replicas, from the end.
        down: brokers that are not running.
    """
    drawn = random.Random(seed)
    used = range(brokers - empty)
    by_rack = [[broker for broker in used if broker % racks == rack] for rack in range(racks)] or [
        [broker] for broker in used
    ]
    states = []
    for index in range(partitions):
        shuffled = [drawn.sample(rack, len(rack)) for rack in drawn.sample(by_rack, len(by_rack))]
        in_turn = (rack[level] for level in range(max(map(len, shuffled))) for rack in shuffled if level < len(rack))
        replicas = tuple(islice(in_turn, factor))
        size = int(drawn.lognormvariate(0, 1.5) * GIB)
        states.append(PartitionSnapshot(f"topic-{index // 100:04}", index % 100, replicas, size, replicas[0], replicas))
    return ClusterSnapshot(
        tuple(
            BrokerSnapshot(broker, f"rack-{broker % racks}" if racks else None, broker not in down)
            for broker in range(brokers)
        ),
        tuple(states),
        "test-cluster",
    )
