"""Settings in ZooKeeper: reading and changing them, with a notification and an audit entry in the same transaction.

`/config/brokers/<default>` has the settings of every broker, and `/config/brokers/<id>` of one, in Kafka's form.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.zookeeper.configs import DEFAULT_ENTITY, ConfigChangeNotification, EntityConfig
from kwire.cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    NodeExists,
    NoNode,
    TransactionFailed,
    ZnodeError,
)
from kwire.cluster.zookeeper.json_object import JsonObject, encode_json
from kwire.cluster.zookeeper.operations import Create, SetData
from kwire.cluster.zookeeper.store import make_path
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.cluster.zookeeper.operations import Operation
    from kwire.cluster.zookeeper.store import Store

__all__ = [
    "AUDIT",
    "AuditEntry",
    "ConfigConflict",
    "VersionedConfig",
    "broker_entity",
    "change_config",
    "read_audit",
    "read_config",
    "trim_audit",
]

log = logging.getLogger("kwire.cluster.config")

AUDIT = "/config/audit"
MAX_AUDIT_ENTRIES = 1000
"""Entries that are kept."""
AUDIT_SLACK = 100
"""Entries above the maximum before the oldest are deleted, so that not every change deletes one."""


class ConfigConflict(KwireError):
    """Someone else has changed the same settings meanwhile, and nothing was written.

    Attributes:
        entity: the entity, such as `brokers/<default>`.
        reason: the change.
    """

    def __init__(self, entity: str, reason: str) -> None:
        super().__init__(entity, reason)
        self.entity = entity
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.entity}: {self.reason}: nothing was written, look at it and set it again"


class VersionedConfig(NamedTuple):
    """The settings of an entity, and the version of its znode, -1 without one.

    Attributes:
        malformed: the reason why the znode cannot be decoded; it then counts as one without settings.
    """

    config: EntityConfig
    version: int
    malformed: ZnodeError | None = None


class AuditEntry(NamedTuple):
    """A change of settings.

    Attributes:
        timestamp: milliseconds since 1970.
        author: the maker: the address and the client id.
        node_id: the node that wrote it.
        entity: the entity, such as `brokers/<default>`.
        changes: by setting, the text before and after; None if there was none.
    """

    timestamp: int
    author: str
    node_id: int
    entity: str
    changes: Mapping[str, tuple[str | None, str | None]]

    def encode(self) -> bytes:
        changes = {name: {"old": old, "new": new} for name, (old, new) in self.changes.items()}
        values = {"version": 1, "timestamp": self.timestamp, "author": self.author, "node": self.node_id}
        return encode_json({**values, "entity": self.entity, "changes": changes})

    @classmethod
    def decode(cls, data: bytes, path: str) -> AuditEntry:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        changes = document.object("changes")
        texts = {name: changes.object(name) for name in changes.names()}
        return cls(
            document.timestamp() or 0,
            document.string("author"),
            document.integer("node"),
            document.string("entity"),
            {name: (text.optional_string("old"), text.optional_string("new")) for name, text in texts.items()},
        )


def broker_entity(broker_id: int | None) -> str:
    """Return the entity of a broker, or of every broker."""
    return f"brokers/{DEFAULT_ENTITY if broker_id is None else broker_id}"


async def read_config(store: Store, entity: str) -> VersionedConfig:
    """Read the settings of an entity; without a znode, or with a malformed one, there are none.

    Raises:
        StoreError: it cannot be read.
    """
    path = f"/config/{entity}"
    try:
        znode = await store.get(path)
    except NoNode:
        return VersionedConfig(EntityConfig(), -1)
    try:
        return VersionedConfig(EntityConfig.decode(znode.data, path), znode.stat.version)
    except ZnodeError as error:
        return VersionedConfig(EntityConfig(), znode.stat.version, error)


async def change_config(
    store: Store,
    entity: str,
    changes: Mapping[str, str | None],
    *,
    author: str,
    node_id: int,
    hide: frozenset[str] = frozenset(),
    if_version: int | None = None,
) -> VersionedConfig:
    """Change settings of an entity, and return all of its settings.

    Args:
        changes: the new texts; None deletes a setting.
        author: the maker of the change, for the audit.
        node_id: the node that writes it.
        hide: secret settings, which the audit does not show.
        if_version: the version that the author has seen.

    Raises:
        ConfigConflict: someone else has changed the same settings meanwhile.
        StoreError: it cannot be written.
    """
    seen: Mapping[str, str] | None = None
    while True:
        try:
            before = await read_config(store, entity)
            if if_version is not None and before.version != if_version:
                raise ConfigConflict(entity, f"version {before.version} is not {if_version}")
            if seen is not None:
                _check_unchanged(entity, changes, seen, before.config.config, hide)
            seen = before.config.config
            after = _changed(before.config, changes)
            if after == before.config and before.version >= 0 and before.malformed is None:
                return before
            if before.malformed is not None:  # nothing in it can be kept, and no other change could repair it
                log.error("replacing malformed znode: %s", before.malformed)
            await _write(store, entity, before, after, _audit_entry(entity, before, changes, author, node_id, hide))
        except ConnectionLost:
            if if_version is None:  # setting the same values again is harmless
                seen = None
                continue
            raise
        except _Retry:
            continue
        await trim_audit(store)
        return VersionedConfig(after, before.version + 1)


class _Retry(Exception):
    """A znode has changed, or a parent is missing and was made."""


def _check_unchanged(
    entity: str,
    changes: Mapping[str, str | None],
    seen: Mapping[str, str],
    now: Mapping[str, str],
    hide: frozenset[str],
) -> None:
    for name in changes:
        if seen.get(name) != now.get(name):
            values = "" if name in hide else f" from {seen.get(name)!r} to {now.get(name)!r}"
            raise ConfigConflict(entity, f"{name} was changed{values} meanwhile")


def _changed(config: EntityConfig, changes: Mapping[str, str | None]) -> EntityConfig:
    values = {**config.config, **{name: text for name, text in changes.items() if text is not None}}
    kept = {name: text for name, text in values.items() if changes.get(name, text) is not None}
    return EntityConfig(kept, config.unknown)


def _audit_entry(
    entity: str,
    before: VersionedConfig,
    changes: Mapping[str, str | None],
    author: str,
    node_id: int,
    hide: frozenset[str],
) -> AuditEntry:
    def shown(name: str, text: str | None) -> str | None:
        return "(hidden)" if name in hide and text is not None else text

    return AuditEntry(
        time.time_ns() // 1_000_000,
        author,
        node_id,
        entity,
        {name: (shown(name, before.config.config.get(name)), shown(name, text)) for name, text in changes.items()},
    )


async def _write(store: Store, entity: str, before: VersionedConfig, after: EntityConfig, entry: AuditEntry) -> None:
    """Write the settings, the notification, and the audit entry, all or none."""
    path = f"/config/{entity}"
    write: Operation = (
        Create(path, after.encode()) if before.version < 0 else SetData(path, after.encode(), before.version)
    )
    notification = ConfigChangeNotification(entity).encode()
    try:
        await store.multi(
            [
                write,
                Create(ConfigChangeNotification.path(), notification, sequential=True),
                Create(f"{AUDIT}/change_", entry.encode(), sequential=True),
            ]
        )
    except TransactionFailed as failed:
        if isinstance(failed.error, NoNode):
            await make_path(store, path.rpartition("/")[0])
            await make_path(store, ConfigChangeNotification.root)
            await make_path(store, AUDIT)
        elif not isinstance(failed.error, BadVersion | NodeExists):
            raise failed.error from failed
        raise _Retry from failed


async def trim_audit(store: Store) -> None:
    """Delete the oldest entries above the limit. Another node may delete them at the same time."""
    try:
        names = sorted(await store.children(AUDIT))
        if len(names) > MAX_AUDIT_ENTRIES + AUDIT_SLACK:
            for name in names[:-MAX_AUDIT_ENTRIES]:
                await _delete_if_exists(store, f"{AUDIT}/{name}")
    except ConnectionLost:  # the next change trims
        return


async def _delete_if_exists(store: Store, path: str) -> None:
    try:
        await store.delete(path)
    except NoNode:
        return


async def read_audit(store: Store, newest: int) -> list[AuditEntry]:
    """Return the newest entries of the audit, oldest first. Malformed entries are left out.

    Raises:
        StoreError: they cannot be read.
    """
    try:
        names = sorted(await store.children(AUDIT))[-newest:] if newest else []
    except NoNode:
        return []
    paths = [f"{AUDIT}/{name}" for name in names]
    entries = []
    for path, znode in zip(paths, await store.get_many(paths), strict=True):
        if znode is None or isinstance(znode, Exception):
            continue
        try:
            entries.append(AuditEntry.decode(znode.data, path))
        except ZnodeError as error:
            log.error("ignoring malformed znode: %s", error)
    return entries
