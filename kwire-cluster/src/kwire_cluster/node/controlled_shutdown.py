"""Controlled shutdown: before a node stops, the controller moves its leaders to other brokers.

Kafka has a request for this (key 7). The drafts have none, so nodes send an Admin request with the tool
`controlled-shutdown` and two arguments: the broker id, and the broker epoch (the czxid of the registration).
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from kwire.messages.kip4.admin import AdminRequest, AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.logs import logger
from kwire_cluster.zookeeper.operations import SessionState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.controller.backend import AdminBackend
    from kwire_cluster.node.requests.request_context import NodeServices

TOOL = "controlled-shutdown"
RETRY_SECONDS = 0.2

log = logger(__name__)


async def move_leaders(arguments: Sequence[str], backend: AdminBackend) -> AdminResponse:
    """Move leaders away from the broker that the arguments name.

    Returns:
        `output` is a JSON list of the [topic, partition] pairs that the broker still leads because no other replica
        can; `exit_status` is 1 if there are any. The error is 22 if this broker is not the controller, and 21 if the
        arguments do not name a live broker.
    """
    try:
        broker_id, broker_epoch = map(int, arguments)
    except ValueError:
        reason = f"invalid arguments {' '.join(arguments)[:100]!r}: expected a broker id and a broker epoch"
        return _failure(ErrorCode.ADMIN_REQUEST_FAILED, reason)
    try:
        remaining = await backend.controlled_shutdown(broker_id, broker_epoch)
    except CommandError as error:
        return _failure(error.code, error.reason)
    output = json.dumps(remaining).encode()
    return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=1 if remaining else 0, output=output)


def _failure(code: int, reason: str) -> AdminResponse:
    return AdminResponse(error_code=code, error_description=reason, exit_status=1, output=b"")


async def request_controlled_shutdown(node: NodeServices, timeout: float) -> None:
    """Have the controller move this node's leaders away, retrying for at most `timeout` seconds.

    The node stops in any case. Failures are logged. Without ZooKeeper no leader can move, so nothing is waited for.
    """
    try:
        async with asyncio.timeout(timeout):
            while True:
                session = node.metadata_updates.session
                assert session is not None
                if session.store.state != SessionState.CONNECTED:
                    log.warning("skipping controlled shutdown", reason="no connection to ZooKeeper")
                    return
                # Another controller may be elected meanwhile, so each attempt asks the current one.
                if await _request(node, session.broker_epoch):
                    return
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        log.warning("controlled shutdown timed out", seconds=timeout)


async def _request(node: NodeServices, broker_epoch: int) -> bool:
    """Send one request to the controller, and return whether it succeeded."""
    assert node.backend is not None
    arguments = (str(node.settings.id), str(broker_epoch))
    response = await move_leaders(arguments, node.backend)
    if response.error_code == ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
        controller = node.controller_endpoint
        if controller is None or node.metadata.controller_id == node.settings.id:
            return False
        request = AdminRequest(tool=TOOL, arguments=arguments)
        try:
            response = await node.connections.send(controller, request)
        except ConnectionFault as fault:
            log.info("controlled shutdown failed, retrying", reason=str(fault))
            return False
    if response.error_code != ErrorCode.NO_ERROR:
        log.info("controlled shutdown failed, retrying", reason=response.error_description)
        return False
    log.info("controlled shutdown completed", remaining_leaders=len(json.loads(response.output)))
    return True
