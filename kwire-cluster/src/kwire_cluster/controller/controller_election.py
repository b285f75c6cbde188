"""Election of the controller through ZooKeeper.

The ephemeral znode `/controller` and the incremented `/controller_epoch` are written in one transaction, so no two
controllers share an epoch. Source: `KafkaZkClient.registerControllerAndIncrementControllerEpoch` of Kafka 3.9.

A malformed `/controller_epoch` is replaced, other than in Kafka: a controller writes its epoch into the states of
partitions, so the epoch continues after the highest one there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.config.audit import AUDIT
from kwire_cluster.controller.state_loader import StateLoader
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NodeExists,
    NoNode,
    NotAuthorized,
    TransactionFailed,
    ZnodeError,
)
from kwire_cluster.zookeeper.operations import Create, SetData
from kwire_cluster.zookeeper.store import make_path, until_answered

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cluster.zookeeper.store import Store, Watch

log = logging.getLogger("kwire_cluster.controller")

TOP_LEVEL_PATHS = (
    "/brokers/ids",
    "/brokers/topics",
    "/config/topics",
    "/config/brokers",
    "/config/clients",
    "/config/users",
    "/config/ips",
    "/config/changes",
    AUDIT,
    "/admin/delete_topics",
    "/isr_change_notification",
    "/consumers",
)
"""Persistent znodes that must exist before a controller starts."""


MAX_EPOCH = 2**31 - 1
"""The highest controller epoch that messages can carry."""


class ElectedEpoch(NamedTuple):
    """The controller epoch that an election produced, and the version of its znode, which fences all writes."""

    epoch: int
    zk_version: int


async def create_top_level_paths(store: Store, watch: Watch | None = None) -> None:
    """Create the missing znodes of `TOP_LEVEL_PATHS`, and log a znode that the session must not create.

    Args:
        store: the session.
        watch: reports when one of the znodes is deleted.
    """
    stats = await asyncio.gather(*(store.exists(path, watch) for path in TOP_LEVEL_PATHS), return_exceptions=True)
    for path, stat in zip(TOP_LEVEL_PATHS, stats, strict=True):
        if isinstance(stat, BaseException) and not isinstance(stat, NotAuthorized):
            raise stat
        if stat is not None:
            continue
        try:
            await make_path(store, path)
        except NotAuthorized as error:
            log.error("cannot create a missing znode: %s", error, extra={"path": path})


async def elect(
    store: Store, broker_id: int, watch: Watch, clock: Callable[[], float] = time.time
) -> ElectedEpoch | None:
    """Try to become the controller.

    Returns:
        The new epoch, or None if another broker is the controller; `watch` then fires when its znode changes.

    Raises:
        SessionExpired, StoreClosed: the session has ended.
        NotAuthorized: the session must not use `/controller` or `/controller_epoch`.
    """
    while True:
        try:
            registration = await store.exists(ActiveController.path(), watch)
            if registration is None:
                elected = await _try_elect(store, broker_id, clock)
                if elected is not None:
                    return elected
            elif registration.ephemeral_owner != store.session_id:
                return None
            else:  # an earlier attempt succeeded, but its response was lost
                elected = await _current_epoch(store)
                if elected is not None:
                    return elected
                await resign(store)  # another epoch was written since; no other broker could be elected either
        except ConnectionLost:  # the transaction may have been applied
            continue


async def resign(store: Store) -> None:
    """Delete `/controller` if this session owns it.

    Raises:
        SessionExpired, StoreClosed: the session has ended.
    """
    await until_answered(lambda: _delete_own(store))


async def _delete_own(store: Store) -> None:
    registration = await store.exists(ActiveController.path())
    if registration is not None and registration.ephemeral_owner == store.session_id:
        with suppress(NoNode):
            await store.delete(ActiveController.path())


async def _try_elect(store: Store, broker_id: int, clock: Callable[[], float]) -> ElectedEpoch | None:
    path = ControllerEpoch.path()
    try:
        znode = await store.get(path)
    except NoNode:
        try:
            await store.create(path, ControllerEpoch(0).encode())
        except NodeExists:  # another broker of a new cluster created it first
            return None
        znode = await store.get(path)
    try:
        stored = ControllerEpoch.decode(znode.data, path).epoch
    except ZnodeError as error:
        stored = await _highest_epoch(store)
        log.error("replacing a malformed znode by epoch %d: %s", stored, error, extra={"path": path})
    epoch = stored + 1 if 0 <= stored < MAX_EPOCH else 1
    if epoch != stored + 1:
        log.warning("%s is %d: the epochs of controllers start again at 1", path, stored, extra={"path": path})
    version = znode.stat.version
    registration = ActiveController(broker_id, int(clock() * 1000), -1)
    try:
        await store.multi(
            [
                Create(ActiveController.path(), registration.encode(), ephemeral=True),
                SetData(path, ControllerEpoch(epoch).encode(), version),
            ]
        )
    except TransactionFailed as failed:
        if isinstance(failed.error, NotAuthorized):
            raise failed.error from failed
        return None  # another broker was elected
    return ElectedEpoch(epoch, version + 1)


async def _highest_epoch(store: Store) -> int:
    """Return the highest controller epoch in the states of all partitions; 0 without any."""
    loader = StateLoader(store, lambda _event: None, lambda error: log.error("ignoring znode: %s", error))
    loaded = await loader.topics(await loader.list_topics())
    states = [partition.state for topic in loaded.topics for partition in topic.partitions]
    return max((state.controller_epoch for state in states if state is not None), default=0)


async def _current_epoch(store: Store) -> ElectedEpoch | None:
    """Return the epoch of this session's election, or None if the epoch has been incremented since.

    `/controller` and `/controller_epoch` belong to the same election if one transaction wrote both.
    """
    try:
        registration = await store.get(ActiveController.path())
        epoch = await store.get(ControllerEpoch.path())
    except NoNode:
        return None
    if registration.stat.ephemeral_owner != store.session_id or registration.stat.czxid != epoch.stat.mzxid:
        return None
    # The transaction of the election wrote both, so the data are well-formed.
    return ElectedEpoch(ControllerEpoch.decode(epoch.data).epoch, epoch.stat.version)
