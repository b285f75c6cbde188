"""Requests of nodes to the controller without a message in the drafts: Admin requests with tools of their own.

- `controlled-shutdown` with a broker id and its broker epoch (the czxid of the registration): move the leaders of a
  node that is about to stop to other brokers. Kafka has a request for this (key 7). `output` is a JSON list of the
  [topic, partition] pairs that the broker still leads because no other replica can; `exit_status` is 1 if it has any.
- `full-metadata` with a broker id: send the full metadata to a node that has noticed a gap in the updates.

The error is 22 if the node is not the controller, and 21 if the arguments do not name a live broker.
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
from kwire_cluster.node.metadata.metadata_cache import broker_endpoint
from kwire_cluster.zookeeper import ActiveController, BrokerRegistration, SessionState, StoreError, ZnodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.controller.backend import AdminBackend
    from kwire_cluster.node.requests.request_context import NodeServices

CONTROLLED_SHUTDOWN = "controlled-shutdown"
FULL_METADATA = "full-metadata"
ARGUMENTS = {CONTROLLED_SHUTDOWN: ("a broker id", "a broker epoch"), FULL_METADATA: ("a broker id",)}
"""The arguments of each tool."""

RETRY_SECONDS = 0.2

log = logger(__name__)


async def answer(tool: str, arguments: Sequence[str], backend: AdminBackend) -> AdminResponse:
    """Answer one of these requests."""
    expected = ARGUMENTS[tool]
    try:
        numbers = [int(text) for _, text in zip(expected, arguments, strict=True)]
    except ValueError:
        reason = f"invalid arguments {' '.join(arguments)[:100]!r}: expected {' and '.join(expected)}"
        return _failure(ErrorCode.ADMIN_REQUEST_FAILED, reason)
    try:
        if tool == FULL_METADATA:
            await backend.send_full_metadata(numbers[0])
            return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=0, output=b"")
        remaining = await backend.controlled_shutdown(numbers[0], numbers[1])
    except CommandError as error:
        return _failure(error.code, error.reason)
    output = json.dumps(remaining).encode()
    return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=1 if remaining else 0, output=output)


def _failure(code: int, reason: str) -> AdminResponse:
    return AdminResponse(error_code=code, error_description=reason, exit_status=1, output=b"")


async def _ask_controller(node: NodeServices, request: AdminRequest) -> AdminResponse:
    """Send a request to the controller, which may be this node.

    Raises:
        ConnectionFault: the controller does not answer.
        StoreError, ZnodeError: it cannot be found.
    """
    assert node.backend is not None
    response = await answer(request.tool, request.arguments, node.backend)
    if response.error_code != ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
        return response
    return await node.connections.send(await _controller_endpoint(node), request)


async def _controller_endpoint(node: NodeServices) -> Endpoint:
    """Read the endpoint of the controller from ZooKeeper, because the brokers in the metadata may be wrong."""
    session = node.metadata_updates.session
    assert session is not None, "a node listens only once it has had a session"
    controller = ActiveController.decode((await session.store.get(ActiveController.path())).data)
    path = BrokerRegistration.path(controller.broker_id)
    return broker_endpoint(BrokerRegistration.decode((await session.store.get(path)).data, path).endpoints)


async def request_full_metadata(node: NodeServices) -> None:
    """Ask the controller for the full metadata. If that fails, the next update shows the gap again."""
    try:
        response = await _ask_controller(node, AdminRequest(tool=FULL_METADATA, arguments=(str(node.settings.id),)))
    except (ConnectionFault, StoreError, ZnodeError) as fault:
        log.warning("cannot request the full metadata", reason=str(fault))
        return
    if response.error_code != ErrorCode.NO_ERROR:
        log.warning("cannot request the full metadata", reason=response.error_description)


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
                if await _move_leaders(node, session.broker_epoch):
                    return
                await asyncio.sleep(RETRY_SECONDS)
    except TimeoutError:
        log.warning("controlled shutdown timed out", seconds=timeout)


async def _move_leaders(node: NodeServices, broker_epoch: int) -> bool:
    arguments = (str(node.settings.id), str(broker_epoch))
    try:
        response = await _ask_controller(node, AdminRequest(tool=CONTROLLED_SHUTDOWN, arguments=arguments))
    except (ConnectionFault, StoreError, ZnodeError) as fault:
        log.info("controlled shutdown failed, retrying", reason=str(fault))
        return False
    if response.error_code != ErrorCode.NO_ERROR:
        log.info("controlled shutdown failed, retrying", reason=response.error_description)
        return False
    log.info("controlled shutdown completed", remaining_leaders=len(json.loads(response.output)))
    return True
