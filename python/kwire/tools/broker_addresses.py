"""The brokers of a cluster, as ZooKeeper registers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.tools.tool import ToolFailed

if TYPE_CHECKING:
    from kwire.cluster.zookeeper import BrokerRegistration, Store


async def registered_brokers(store: Store) -> dict[int, BrokerRegistration]:
    """Return the live brokers by id.

    Raises:
        ZnodeError: a registration cannot be read.
    """
    from kwire.cluster.zookeeper.brokers import BrokerRegistration
    from kwire.cluster.zookeeper.errors import NoNode
    from kwire.cluster.zookeeper.operations import Znode

    try:
        ids = [int(name) for name in await store.children("/brokers/ids")]
    except NoNode:
        return {}
    found = await store.get_many([BrokerRegistration.path(each) for each in ids])
    return {
        broker: BrokerRegistration.decode(znode.data, BrokerRegistration.path(broker))
        for broker, znode in zip(ids, found, strict=True)
        if isinstance(znode, Znode)
    }


async def broker_addresses(store: Store) -> str:
    """Return the addresses of the live brokers, separated by commas.

    Raises:
        ToolFailed: no broker is registered.
    """
    brokers = await registered_brokers(store)
    if not brokers:
        raise ToolFailed("no broker is registered in /brokers/ids")
    return ",".join(f"{each.endpoints[0].host}:{each.endpoints[0].port}" for each in brokers.values())
