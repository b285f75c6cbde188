"""Winning ``/controller``: one broker at a time, and each later one with a higher epoch.

Rules of this file: the ephemeral node and the next epoch are written in one transaction, so that there is never a
controller whose epoch another one has as well. Sources: ``KafkaZkClient.registerControllerAndIncrementControllerEpoch``
of Kafka 3.9.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.zookeeper.controllers import Controller as ControllerNode
from kwire.cluster.zookeeper.controllers import ControllerEpoch
from kwire.cluster.zookeeper.errors import ConnectionLost, NodeExists, NoNode, TransactionFailed
from kwire.cluster.zookeeper.operations import Create, Set
from kwire.cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cluster.zookeeper.store import Store, Watch

__all__ = ["PATHS", "Term", "leave", "make_paths", "stand"]

PATHS = (
    "/brokers/ids",
    "/brokers/topics",
    "/config/topics",
    "/config/brokers",
    "/config/clients",
    "/config/users",
    "/config/ips",
    "/config/changes",
    "/admin/delete_topics",
    "/isr_change_notification",
    "/consumers",
)
"""What must be there before a controller can work."""


class Term(NamedTuple):
    """A term of office. ``epoch_version``: of the epoch's node, which guards all writes."""

    epoch: int
    epoch_version: int


async def make_paths(store: Store) -> None:
    """Create what is missing of ``PATHS``."""
    for path in PATHS:
        await make_path(store, path)


async def stand(store: Store, broker_id: int, watch: Watch, clock: Callable[[], float] = time.time) -> Term | None:
    """Stand for election; None when there is a controller already, and then ``watch`` sees its node go.

    Errors: SessionExpired, StoreClosed; ZnodeError when nobody can read the epoch.
    """
    while True:
        try:
            office = await store.exists(ControllerNode.path(), watch)
            if office is None:
                term = await _attempt(store, broker_id, clock)
                if term is not None:
                    return term
            elif office.ephemeral_owner != store.session_id:
                return None
            else:  # we won, and the answer was lost
                return await _held(store)
        except ConnectionLost:  # the answer to an election, perhaps
            continue


async def leave(store: Store) -> None:
    """Give the office back, if this session holds it. Errors: SessionExpired, StoreClosed."""
    while True:
        try:
            office = await store.exists(ControllerNode.path())
            if office is not None and office.ephemeral_owner == store.session_id:
                await store.delete(ControllerNode.path())
        except ConnectionLost:
            continue
        except NoNode:
            return
        else:
            return


async def _attempt(store: Store, broker_id: int, clock: Callable[[], float]) -> Term | None:
    path = ControllerEpoch.path()
    try:
        node = await store.get(path)
    except NoNode:
        try:
            await store.create(path, ControllerEpoch(0).encode())
        except NodeExists:  # another broker of a new cluster was faster
            return None
        node = await store.get(path)
    epoch = ControllerEpoch.decode(node.data, path).epoch + 1
    version = node.stat.version
    office = ControllerNode(broker_id, int(clock() * 1000), -1).encode()
    try:
        await store.multi(
            [
                Create(ControllerNode.path(), office, ephemeral=True),
                Set(path, ControllerEpoch(epoch).encode(), version),
            ]
        )
    except TransactionFailed:  # another one has won
        return None
    return Term(epoch, version + 1)


async def _held(store: Store) -> Term | None:
    """The term in which this session holds the office; None when somebody has raised the epoch since.

    ControllerContext and epoch are written together, so that one transaction made both as they are.
    """
    try:
        office = await store.get(ControllerNode.path())
        epoch = await store.get(ControllerEpoch.path())
    except NoNode:
        return None
    if office.stat.ephemeral_owner != store.session_id or office.stat.czxid != epoch.stat.mzxid:
        return None
    return Term(ControllerEpoch.decode(epoch.data).epoch, epoch.stat.version)
