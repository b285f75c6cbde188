"""An orderly shutdown: before a node goes, the controller moves its leaders away.

Rules of this file: the node asks the controller through the Admin message, with the tool ``controlled-shutdown``: the
dialect has no message of its own for it. Whatever goes wrong is logged and tried again until the time is over; a node
that is told to stop stops.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TextIO

from kwire.controller.refusal import Refusal
from kwire.messages.kip4.admin import AdminRequest
from kwire.node.logs import logger
from kwire.node.tools import UsageError
from kwire.protocol.faults import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.node.node import Node
    from kwire.node.tools import Surroundings

RETRY_SECONDS = 0.2

log = logger(__name__)


class ControlledShutdown:
    """The controller's side: what a node that is about to stop asks for."""

    name = "controlled-shutdown"
    help = (
        "ID EPOCH: move leaders away from this broker; prints, a line each, the partitions that it leads nevertheless"
    )

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(self, arguments: Sequence[str], surroundings: Surroundings, output: TextIO) -> int:
        del surroundings
        try:
            broker_id, epoch = map(int, arguments)
        except ValueError:
            raise UsageError("it wants a broker's id and epoch, two numbers") from None
        session, loop = self._node.session, self._node.loop
        assert session is not None
        assert loop is not None
        asked = asyncio.run_coroutine_threadsafe(session.controller.controlled_shutdown(broker_id, epoch), loop)
        try:
            led = asked.result()
        except Refusal as refusal:
            output.write(f"{refusal}\n")
            return 1
        output.writelines(f"{topic}-{partition}\n" for topic, partition in led)
        return 0


async def leave(node: Node, patience: float) -> None:
    """Have this node's leaders moved away; ``patience`` in seconds."""
    try:
        async with asyncio.timeout(patience):
            while True:
                if await _left(node):
                    return
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        log.warning("stopping without having left in order", seconds=patience)


async def _left(node: Node) -> bool:
    session, controller = node.session, node.controller_address()
    assert session is not None
    if session.controller.is_active:
        try:
            remaining = len(await session.controller.controlled_shutdown(node.settings.id, session.broker_epoch))
        except Refusal as refusal:
            log.info("cannot leave yet", reason=str(refusal))
            return False
    elif controller is None or controller.node_id == node.settings.id:
        return False
    else:
        arguments = (str(node.settings.id), str(session.broker_epoch))
        request = AdminRequest(tool=ControlledShutdown.name, arguments=arguments)
        try:
            answer = await node.peers.send(controller.host, controller.port, request)
        except ConnectionFault as fault:
            log.info("cannot leave yet", reason=str(fault))
            return False
        if answer.exit_status != 0:
            log.info("cannot leave yet", reason=answer.output.decode(errors="replace").strip())
            return False
        remaining = len(answer.output.splitlines())
    log.info("left", remaining_leaders=remaining)
    return True
