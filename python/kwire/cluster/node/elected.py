"""Who was elected, as ZooKeeper knows: asked when a controller speaks of whom a node has not heard yet.

Rules of this file: a message proves nothing, since anybody may send it. An office that cannot be read is nobody's.
Nothing waits for a connection, or all that is said meanwhile would wait too: a controller says it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.zookeeper import ActiveController, ControllerEpoch, ZnodeError
from kwire.cluster.zookeeper.errors import ConnectionLost

if TYPE_CHECKING:
    from kwire.cluster.zookeeper import Store

log = logger(__name__)


async def is_elected(store: Store, broker_id: int, epoch: int) -> bool:
    """Whether this broker is controller, and its epoch this one. Raises what the store raises."""
    if store.state == "suspended":
        raise ConnectionLost(ControllerEpoch.path())
    await store.sync(ControllerEpoch.path())  # a server that is behind may not have seen the election
    office, counted = await store.get_many([ActiveController.path(), ControllerEpoch.path()])
    if office is None or counted is None:
        return False
    try:
        elected = ActiveController.decode(office.data).broker_id, ControllerEpoch.decode(counted.data).epoch
    except ZnodeError as error:
        log.error("bad znode, left alone", path=error.path, key=error.key, reason=error.reason)  # noqa: TRY400 - the node is at fault, not the code
        return False
    return elected == (broker_id, epoch)
