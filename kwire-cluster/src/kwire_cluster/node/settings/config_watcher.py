"""Configs of topics, settings of this node, and SCRAM credentials, followed through `/config/changes`.

A notification only names the entity to read again; notifications that exist when a session starts are not read. A znode
that is malformed, or that this session must not read, is logged, and its topic keeps the configs it had.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from kwire_cluster.config.stored_configs import broker_entity
from kwire_cluster.node.logs import logger
from kwire_cluster.node.znode_watcher import ZnodeWatcher, decoded
from kwire_cluster.zookeeper import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY, desanitize
from kwire_cluster.zookeeper.errors import NodeExists, NoNode, NotAuthorized
from kwire_cluster.zookeeper.operations import CREATOR_ALL
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cluster.config.live_config import LiveConfig
    from kwire_cluster.node.metadata.metadata_cache import MetadataCache
    from kwire_cluster.security.sasl_authentication import ScramUsers
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.store import ReadResult

MAX_DIRECT_READS = 8
"""Maximum number of topics whose configs are read without listing the configured topics: few topics have configs.
Chosen, not measured."""

CONFIGS = "/config/topics"
USERS = "/config/users"
UNKNOWN_USERS = "/config/scram_secret"
"""32 random bytes, from which the salts of unknown users are derived. Kafka does not know this znode."""

log = logger(__name__)


class ConfigWatcher(ZnodeWatcher):
    """Copies the topic configs to the metadata cache, and the node's settings to its layers, for one session.

    Args:
        scram_users: gets the credentials of users; None if they are not needed.
    """

    def __init__(
        self, store: Store, metadata: MetadataCache, config: LiveConfig, scram_users: ScramUsers | None = None
    ) -> None:
        super().__init__(store, "configs")
        self._config = config
        self._scram_users = scram_users
        self._metadata = metadata
        self._seen: set[str] = set()
        """The names of the notifications that need no reading."""
        self._unauthorized: dict[str, str] = {}
        """Znodes that the session must not read, with the topic that each of them configures; empty for the parents."""

    @property
    def has_unreadable(self) -> bool:
        """See `ZnodeWatcher`."""
        return bool(self._unauthorized)

    async def _read_all(self) -> None:
        self._seen = set(await self._list_notifications())
        await self._read_settings()
        await self.read(await self._list_configured() or ())
        await self._read_users(await self._list_users())
        await self._read_scram_secret()

    async def read(self, topics: Iterable[str]) -> None:
        """Read the configs of these topics.

        Raises:
            StoreError: ZooKeeper cannot be read.
        """
        names = list(topics)
        # Most topics have no configs: listing the parent is one request instead of one for each topic.
        if len(names) > MAX_DIRECT_READS:
            configured = await self._list_configured()
            if configured is not None:
                for name in names:
                    if name not in configured:
                        self._metadata.set_configs(name, {})
                names = [name for name in names if name in configured]
        paths = [EntityConfig.path("topics", name) for name in names]
        for name, path, znode in zip(names, paths, await self._store.get_many(paths), strict=True):
            if isinstance(znode, NotAuthorized):
                self._report_unauthorized(znode, name)
                continue
            self._unauthorized.pop(path, None)
            config = decoded(path, znode, EntityConfig.decode)
            if config is not None or znode is None:
                self._metadata.set_configs(name, config.config if config is not None else {})

    async def _read_settings(self) -> None:
        """Read what is stored for this broker and for every broker. Invalid settings are logged and ignored."""
        paths = [f"/config/{broker_entity(broker)}" for broker in (self._config.current.id, None)]
        znodes = await self._store.get_many(paths)
        configs = [decoded(path, znode, EntityConfig.decode) for path, znode in zip(paths, znodes, strict=True)]
        stored = [config.config if config is not None else {} for config in configs]
        for error in self._config.set_stored(*stored):
            log.error("ignoring a stored setting", setting=error.name, reason=error.reason)

    async def _list_users(self) -> list[str]:
        if self._scram_users is None:
            return []
        try:
            return await self._store.children(USERS)
        except NoNode:  # the controller or Kafka's tools create it
            return []
        except NotAuthorized as error:
            log.error("cannot use znode", path=error.path, reason=error.reason)
            return []

    async def _read_scram_secret(self) -> None:
        """Read the secret that hides which users exist, or create it. Only the nodes may read it."""
        if self._scram_users is None:
            return
        can_protect = self._config.current.zookeeper_credentials is not None
        try:
            await make_path(self._store, UNKNOWN_USERS.rpartition("/")[0])
            with suppress(NodeExists):
                acl = CREATOR_ALL if can_protect else None
                await self._store.create(UNKNOWN_USERS, secrets.token_bytes(32), acl=acl)
            self._scram_users.secret = (await self._store.get(UNKNOWN_USERS)).data
        except (NoNode, NotAuthorized) as error:  # this node then has a secret of its own
            log.error("cannot use znode", path=error.path, reason=str(error))

    async def _read_users(self, znodes: Iterable[str]) -> None:
        """Read the SCRAM credentials of users. A user without readable credentials has none."""
        names = [name for name in znodes if "/" not in name and name != DEFAULT_ENTITY]
        if self._scram_users is None or not names:
            return
        paths = [EntityConfig.path("users", name) for name in names]
        for name, path, znode in zip(names, paths, await self._store.get_many(paths), strict=True):
            config = decoded(path, znode, EntityConfig.decode, is_secret=True)
            for mechanism in self._scram_users.set(desanitize(name), config.config if config is not None else {}):
                log.error("ignoring a malformed credential", path=path, key=mechanism)

    async def _list_configured(self) -> set[str] | None:
        """Return the topics that have configs, or None if the session must not list them."""
        try:
            names = set(await self._store.children(CONFIGS))
        except NoNode:  # deleted by another client; the controller creates it again
            names = set()
        except NotAuthorized as error:
            self._report_unauthorized(error)
            return None
        self._unauthorized.pop(CONFIGS, None)
        return names

    async def _list_notifications(self) -> list[str]:
        root = ConfigChangeNotification.root
        try:
            names = await self._watch_children(root)
        except NotAuthorized as error:
            self._report_unauthorized(error)
            return sorted(self._seen)
        self._unauthorized.pop(root, None)
        return names

    def _report_unauthorized(self, error: NotAuthorized, topic: str = "") -> None:
        if error.path not in self._unauthorized:
            self._unauthorized[error.path] = topic
            log.error("cannot use znode", path=error.path, reason=error.reason)

    async def _read_changed(self) -> None:
        await self.read(sorted(topic for topic in self._unauthorized.values() if topic))
        names = set(await self._list_notifications())
        new = sorted(names - self._seen)
        znodes = await self._store.get_many(f"{ConfigChangeNotification.root}/{name}" for name in new)
        changed = changed_entities(new, znodes)
        if "brokers" in changed:
            await self._read_settings()
        await self.read(changed.get("topics", ()))
        await self._read_users(changed.get("users", ()))
        # Only now: after a lost connection, the same notifications are read again.
        self._seen = names


def changed_entities(notifications: list[str], znodes: list[ReadResult]) -> dict[str, dict[str, None]]:
    """Return the names of the entities that the notifications name, by type, without repetitions."""
    entities: dict[str, dict[str, None]] = {}
    for name, znode in zip(notifications, znodes, strict=True):
        change = decoded(f"{ConfigChangeNotification.root}/{name}", znode, ConfigChangeNotification.decode)
        if change is not None:
            entities.setdefault(change.entity_type, {})[change.entity_name] = None
    return entities
