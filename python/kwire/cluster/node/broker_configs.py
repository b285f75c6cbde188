"""The settings in ZooKeeper that concern this node, copied to its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.config.stored_configs import broker_entity
from kwire.cluster.node.logs import logger
from kwire.cluster.zookeeper import EntityConfig, ZnodeError
from kwire.cluster.zookeeper.errors import NotAuthorized

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.cluster.config.live_config import LiveConfig
    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.store import ReadResult

log = logger(__name__)


async def read_broker_configs(store: Store, config: LiveConfig) -> None:
    """Read what is stored for this broker and for every broker. Malformed and invalid settings are logged and ignored.

    Raises:
        StoreError: ZooKeeper cannot be read.
    """
    paths = [f"/config/{broker_entity(broker)}" for broker in (config.current.id, None)]
    znodes = await store.get_many(paths)
    stored = [_decode(path, znode) for path, znode in zip(paths, znodes, strict=True)]
    for error in config.set_stored(*stored):
        log.error("ignoring a stored setting", setting=error.name, reason=error.reason)


def _decode(path: str, znode: ReadResult) -> Mapping[str, str]:
    if znode is None:
        return {}
    if isinstance(znode, NotAuthorized):
        log.error("cannot use znode", path=path, reason=znode.reason)
        return {}
    try:
        return EntityConfig.decode(znode.data, path).config
    except ZnodeError as error:
        log.error("ignoring malformed znode", path=error.path, key=error.key, reason=error.reason)
        return {}
