"""An orderly shutdown: before a node goes, the controller moves its leaders away.

Rules of this file: the node asks the controller through the Admin message, with the tool ``controlled-shutdown``: the
dialect has no message of its own for it. Whatever goes wrong is logged and tried again until the time is over; a node
that is told to stop stops. Without ZooKeeper nothing can be moved, and nothing is waited for.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.handlers.controlled_shutdown import TOOL
from kwire.cluster.node.logs import logger
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from kwire.cluster.node.node import Node

RETRY_SECONDS = 0.2

log = logger(__name__)


async def leave(node: Node, patience: float) -> None:
    """Have this node's leaders moved away; ``patience`` in seconds."""
    try:
        async with asyncio.timeout(patience):
            while True:
                assert node.session is not None
                if node.session.store.state != "connected":
                    log.warning("stopping without having left in order", reason="no connection to ZooKeeper")
                    return
                if await _left(node):
                    return
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        log.warning("stopping without having left in order", reason=f"not done within {patience:g} s")


async def _left(node: Node) -> bool:
    session, controller = node.session, node.controller_address()
    assert session is not None
    if session.controller.is_active:
        try:
            remaining = len(await session.controller.controlled_shutdown(node.settings.id, session.broker_epoch))
        except AdminError as refusal:
            log.info("cannot leave yet", reason=str(refusal))
            return False
    elif controller is None or controller.node_id == node.settings.id:
        return False
    else:
        arguments = (str(node.settings.id), str(session.broker_epoch))
        request = AdminRequest(tool=TOOL, arguments=arguments)
        try:
            answer = await node.peers.send(Endpoint(controller.host, controller.port), request)
        except ConnectionFault as fault:
            log.info("cannot leave yet", reason=str(fault))
            return False
        if answer.error_code != ErrorCode.NO_ERROR:
            log.info("cannot leave yet", reason=answer.error_description)
            return False
        remaining = len(json.loads(answer.output))
    log.info("left", remaining_leaders=remaining)
    return True
