"""Finalized features of the controller (KIP-584): the state it starts with, changes by others, and UpdateFeatures.

The version of `/features` is the epoch of the finalized features, which never decreases (KIP-584). ZooKeeper starts it
at 0 when a znode is created. So a znode that another client has deleted, or created again, is written repeatedly, until
the epoch is above the last one. The last epoch is the highest of three: what this controller has read in its term, what
its broker has read before, and `LAST_FEATURES`, which is written in the transactions that write `/features`. A deleted
znode gets the last features; a znode that another client has created keeps its features.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.feature_rules import bootstrap, plan_update
from kwire_cluster.controller.fenced_writer import WriteConflict
from kwire_cluster.zookeeper.errors import ConnectionLost, NoNode, NotAuthorized, StoreError, ZnodeError
from kwire_cluster.zookeeper.features import LAST_FEATURES, FeaturesZnode, VersionedFeatures, read_features
from kwire_cluster.zookeeper.operations import Create, SetData
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_cluster.controller.controller_context import ControllerContext
    from kwire_cluster.controller.feature_rules import FeatureChange
    from kwire_cluster.zookeeper.operations import Operation

log = logging.getLogger("kwire_cluster.controller")

MAX_OPERATIONS = 500
MAX_TRANSACTION_BYTES = 400_000
"""Writes of one transaction and the data in them: a packet of ZooKeeper has at most 1 MB (`jute.maxbuffer`)."""
MAX_SKIPPED_EPOCHS = 100_000
"""Largest gap of epochs that is closed, some seconds of writes. A larger one comes from damaged data."""
ENTITY = "features"
"""The entity of finalized features in the audit."""
NO_FEATURES = VersionedFeatures(None, -1)


class FeatureUpdateOutcome(NamedTuple):
    """The outcome of UpdateFeatures: the epoch, and the errors by feature. If there are any, nothing was changed."""

    epoch: int
    errors: Mapping[str, CommandError]


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
            stored = await read_features(context.store, context.watch)
        except ZnodeError as error:
            context.report(error)
            context.features = None
            return
        except NotAuthorized as error:
            log.error("cannot read the finalized features: %s", error)
            context.features = None
            return
        for warning in stored.znode.warnings if stored.znode is not None else ():
            context.report(warning)
        last = await _read_last(context)
        newest = max(
            last, context.known_features(), context.features or NO_FEATURES, key=lambda features: features.epoch
        )
        if newest.epoch > stored.epoch + MAX_SKIPPED_EPOCHS:
            log.error("ignoring the epoch %d of the features: %d is stored", newest.epoch, stored.epoch)
            newest = NO_FEATURES
        current = stored.znode if stored.znode is not None else newest.znode
        znode = bootstrap(current, settings.supported_features, enabled=settings.features_enabled)
        is_unchanged = znode is stored.znode and stored.epoch >= newest.epoch
        if is_unchanged and stored.encode() == last.encode():
            context.features = stored
            return
        try:
            if is_unchanged:  # written by another client, in any epoch, or by a release without LAST_FEATURES
                await context.writer.commit([SetData(LAST_FEATURES, stored.encode())])
                context.features = stored
                return
            context.features = await _write(context, stored, znode, newest.epoch)
        except ConnectionLost:
            raise
        except (WriteConflict, StoreError) as error:
            if isinstance(error, WriteConflict) and not isinstance(error.error, NotAuthorized):
                continue
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


async def update_features(
    context: ControllerContext, changes: Sequence[FeatureChange], author: str, *, validate_only: bool = False
) -> FeatureUpdateOutcome:
    """Finalize, upgrade, downgrade, and delete features: all of them or none.

    Args:
        context: the controller.
        changes: the requested levels.
        author: the author in the audit.
        validate_only: True to write nothing; the epoch is the present one.

    Raises:
        CommandError: code 42, feature versioning is disabled, or no feature is named; code 96, ZooKeeper cannot be read
            or written, and nothing was changed.
        ControllerMoved: another controller was elected.
    """
    if context.features is None or context.features.znode is None:
        raise CommandError(
            ErrorCode.FEATURE_UPDATE_FAILED,
            f"{FeaturesZnode.path()} cannot be read: see the log of broker {context.broker_id}, and repair the znode",
        )
    znode = context.features.znode
    if not znode.enabled:
        raise CommandError(ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.")
    if not changes:
        raise CommandError(ErrorCode.INVALID_REQUEST, "the request names no feature")
    brokers = {broker.id: broker.registration.features for broker in (await context.loader.brokers()).values()}
    plan = plan_update(znode, changes, context.settings.supported_features, brokers)
    if plan.errors or validate_only:
        return FeatureUpdateOutcome(context.features.epoch, plan.errors)
    changed = _level_changes(znode, plan.after)
    audit = context.audit_entry(author, ENTITY, changed) if changed else None
    try:
        context.features = await _write(context, context.features, plan.after, context.features.epoch, audit)
    except (WriteConflict, StoreError) as error:
        context.queue.enqueue_change(FeaturesZnode.path())
        raise CommandError(
            ErrorCode.FEATURE_UPDATE_FAILED, f"the finalized features are unchanged: cannot write to ZooKeeper: {error}"
        ) from error
    log.info("finalized features at epoch %d: %s", context.features.epoch, dict(plan.after.features))
    return FeatureUpdateOutcome(context.features.epoch, {})


def _level_changes(before: FeaturesZnode, after: FeaturesZnode) -> dict[str, tuple[str | None, str | None]]:
    """Return the finalized levels that differ, as texts before and after."""
    old, new = (
        {name: str(levels.max_version_level) for name, levels in znode.features.items()} for znode in (before, after)
    )
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return {name: (old.get(name), new.get(name)) for name in changed}


async def _read_last(context: ControllerContext) -> VersionedFeatures:
    """Read `LAST_FEATURES`, and create it if it is missing; without usable data, there are none."""
    try:
        data = (await context.store.get(LAST_FEATURES)).data
        return VersionedFeatures.decode(data) if data else NO_FEATURES
    except NoNode:
        with suppress(NotAuthorized):  # writing the features reports it
            await make_path(context.store, LAST_FEATURES)
    except (ZnodeError, NotAuthorized) as error:
        context.report(error)
    return NO_FEATURES


async def _write(
    context: ControllerContext,
    before: VersionedFeatures,
    after: FeaturesZnode,
    last_epoch: int,
    audit: Operation | None = None,
) -> VersionedFeatures:
    """Write the finalized features, and return them with their epoch.

    Args:
        context: the controller.
        before: the features in ZooKeeper.
        after: the features to write.
        last_epoch: the epoch that the new one must exceed.
        audit: the audit entry of a requested change. It is written with the first epoch, which has all the levels.

    Raises:
        ControllerMoved: another controller was elected.
        WriteConflict: another client has written them.
        StoreError: they cannot be written.
    """
    path, data = FeaturesZnode.path(), after.encode()
    written = VersionedFeatures(after, max(before.epoch, last_epoch) + 1)
    operations: list[Operation] = [Create(path, data)] if before.znode is None else []
    operations += [SetData(path, data, epoch) for epoch in range(max(before.epoch, 0), written.epoch)]
    operations.append(SetData(LAST_FEATURES, written.encode()))
    if audit is not None:
        operations.insert(1, audit)  # the first one shows after a lost connection whether a transaction was applied
    at_once = max(2, min(MAX_OPERATIONS, MAX_TRANSACTION_BYTES // len(data)))
    for start in range(0, len(operations), at_once):
        await context.writer.commit(operations[start : start + at_once])
    return written
