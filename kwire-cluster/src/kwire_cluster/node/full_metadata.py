"""Requests for the full metadata, from a node that has noticed a gap in the updates of the controller.

The drafts have no request for this, so nodes send an Admin request with the tool `full-metadata` and the broker id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.admin import AdminRequest, AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.logs import logger
from kwire_cluster.node.metadata.metadata_cache import broker_endpoint
from kwire_cluster.zookeeper import ActiveController, BrokerRegistration, StoreError, ZnodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.controller.backend import AdminBackend
    from kwire_cluster.node.requests.request_context import NodeServices

TOOL = "full-metadata"

log = logger(__name__)


async def send_full_metadata(arguments: Sequence[str], backend: AdminBackend) -> AdminResponse:
    """Send the full metadata to the broker that the argument names.

    Returns:
        The error is 22 if this broker is not the controller, and 21 if the argument is not a broker id.
    """
    try:
        [broker_id] = map(int, arguments)
    except ValueError:
        reason = f"invalid arguments {' '.join(arguments)[:100]!r}: expected a broker id"
        return _failure(ErrorCode.ADMIN_REQUEST_FAILED, reason)
    try:
        await backend.send_full_metadata(broker_id)
    except CommandError as error:
        return _failure(error.code, error.reason)
    return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=0, output=b"")


def _failure(code: int, reason: str) -> AdminResponse:
    return AdminResponse(error_code=code, error_description=reason, exit_status=1, output=b"")


async def _controller_endpoint(node: NodeServices) -> Endpoint:
    """Read the endpoint of the controller from ZooKeeper, because the brokers in the metadata may be wrong.

    Raises:
        StoreError, ZnodeError: it cannot be read.
    """
    session = node.metadata_updates.session
    assert session is not None, "a node listens only once it has had a session"
    controller = ActiveController.decode((await session.store.get(ActiveController.path())).data)
    path = BrokerRegistration.path(controller.broker_id)
    return broker_endpoint(BrokerRegistration.decode((await session.store.get(path)).data, path).endpoints)


async def request_full_metadata(node: NodeServices) -> None:
    """Ask the controller for the full metadata. If that fails, the next update shows the gap again."""
    assert node.backend is not None
    arguments = (str(node.settings.id),)
    response = await send_full_metadata(arguments, node.backend)
    if response.error_code == ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
        try:
            controller = await _controller_endpoint(node)
            response = await node.connections.send(controller, AdminRequest(tool=TOOL, arguments=arguments))
        except (ConnectionFault, StoreError, ZnodeError) as fault:
            log.warning("cannot request the full metadata", reason=str(fault))
            return
    if response.error_code != ErrorCode.NO_ERROR:
        log.warning("cannot request the full metadata", reason=response.error_description)
