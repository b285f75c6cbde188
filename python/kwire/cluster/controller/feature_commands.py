"""Finalized features of the controller (KIP-584): the state it starts with, changes by others, and UpdateFeatures.

The version of `/features` is the epoch of the finalized features. ZooKeeper starts it at 0 when a znode is created. So
a znode that someone deleted is written repeatedly, until the epoch is above the last one that this controller knew.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.feature_rules import bootstrap, plan_update
from kwire.cluster.controller.fenced_writer import WriteConflict
from kwire.cluster.zookeeper.errors import ConnectionLost, NotAuthorized, StoreError, ZnodeError
from kwire.cluster.zookeeper.features import FeaturesZnode, VersionedFeatures, read_features
from kwire.cluster.zookeeper.operations import Create, SetData
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.cluster.controller.controller_context import ControllerContext
    from kwire.cluster.controller.feature_rules import FeatureChange
    from kwire.cluster.zookeeper.operations import Operation

__all__ = ["FeatureUpdate", "process_features_change", "update_features"]

log = logging.getLogger("kwire.cluster.controller")

MAX_OPERATIONS = 500
"""Writes of one transaction, which must fit into a packet of ZooKeeper."""


class FeatureUpdate(NamedTuple):
    """The outcome of UpdateFeatures: the epoch, and the errors by feature. If there are any, nothing was changed."""

    epoch: int
    errors: Mapping[str, AdminError]


async def process_features_change(context: ControllerContext) -> None:
    """Read the finalized features, and write them if feature versioning was enabled or disabled, or they are missing.

    Features that cannot be read or written are reported, and concern UpdateFeatures only.

    Raises:
        ControllerMoved: another controller was elected.
        StoreError: a read failed.
    """
    settings = context.settings
    while True:
        try:
            found = await read_features(context.store, context.watch)
        except ZnodeError as error:
            context.report(error)
            context.features = None
            return
        except NotAuthorized as error:
            log.error("cannot read the finalized features: %s", error)
            context.features = None
            return
        for warning in found.znode.warnings if found.znode is not None else ():
            context.report(warning)
        znode = bootstrap(found.znode, settings.supported_features, enabled=settings.features_enabled)
        if znode is found.znode:
            context.features = found
            return
        try:
            context.features = await _write(context, found, znode)
        except WriteConflict:
            continue
        except ConnectionLost:
            raise
        except StoreError as error:
            log.error("cannot write the finalized features: %s", error)
            context.features = None
            return
        log.info(
            "feature versioning is %s, epoch %d, features: %s",
            "enabled" if znode.enabled else "disabled",
            context.features.epoch,
            ", ".join(sorted(znode.features)) or "none",
        )
        return


async def update_features(context: ControllerContext, changes: Sequence[FeatureChange]) -> FeatureUpdate:
    """Finalize, upgrade, downgrade, and delete features: all of them or none.

    Raises:
        AdminError: code 42, feature versioning is disabled, or no feature is named; code 96, ZooKeeper cannot be read
            or written, and nothing was changed.
        ControllerMoved: another controller was elected.
    """
    if context.features is None or context.features.znode is None:
        raise AdminError(
            ErrorCode.FEATURE_UPDATE_FAILED,
            f"{FeaturesZnode.path()} cannot be read: see the log of broker {context.broker_id}, and repair the znode",
        )
    znode = context.features.znode
    if not znode.enabled:
        raise AdminError(ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.")
    if not changes:
        raise AdminError(ErrorCode.INVALID_REQUEST, "the request names no feature")
    brokers = {broker.id: broker.registration.features for broker in (await context.loader.brokers()).values()}
    plan = plan_update(znode, changes, context.settings.supported_features, brokers)
    if plan.errors:
        return FeatureUpdate(context.features.epoch, plan.errors)
    try:
        context.features = await _write(context, context.features, plan.after)
    except (WriteConflict, StoreError) as error:
        context.queue.enqueue_change(FeaturesZnode.path())
        raise AdminError(
            ErrorCode.FEATURE_UPDATE_FAILED, f"the finalized features are unchanged: cannot write to ZooKeeper: {error}"
        ) from error
    log.info("finalized features at epoch %d: %s", context.features.epoch, dict(plan.after.features))
    return FeatureUpdate(context.features.epoch, {})


async def _write(context: ControllerContext, before: VersionedFeatures, after: FeaturesZnode) -> VersionedFeatures:
    """Write the finalized features, and return them with their epoch.

    Raises:
        ControllerMoved: another controller was elected.
        WriteConflict: another client has written them.
        StoreError: they cannot be written.
    """
    path, data = FeaturesZnode.path(), after.encode()
    if before.znode is not None:
        operations: list[Operation] = [SetData(path, data, before.epoch)]
    else:
        known = context.features.epoch if context.features is not None else -1
        operations = [Create(path, data), *(SetData(path, data, epoch) for epoch in range(known + 1))]
    for start in range(0, len(operations), MAX_OPERATIONS):
        await context.writer.commit(operations[start : start + MAX_OPERATIONS])
    return VersionedFeatures(after, before.epoch + 1 if before.znode is not None else len(operations) - 1)
