"""A broker that is about to stop asks for its leaders to be moved away: the tool ``controlled-shutdown``.

Kafka has a message of its own for that (key 7); in the drafts it travels as an Admin message, from broker to broker.
Arguments: the broker's id, and the transaction that registered it (czxid) or -1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from kwire.cluster.controller.backend import AdminBackend
    from kwire.messages.kip4.admin import AdminRequest

__all__ = ["TOOL", "run"]

TOOL = "controlled-shutdown"


async def run(message: AdminRequest, backend: AdminBackend) -> AdminResponse:
    """``output``: a JSON list of [topic, partition], what the broker leads nevertheless, since nobody else can.

    ``exit_status``: 0, or 1 when there are such. Error 22 from a broker that is not the controller, 21 for arguments
    that name no live broker.
    """
    try:
        broker_id, broker_epoch = map(int, message.arguments)
    except ValueError:
        reason = f"{TOOL} takes a broker's id and its epoch or -1, not {' '.join(message.arguments)[:100]!r}"
        return _refused(ErrorCode.ADMIN_REQUEST_FAILED, reason)
    try:
        left = await backend.controlled_shutdown(broker_id, broker_epoch)
    except AdminError as error:
        return _refused(error.code, error.reason)
    return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=1 if left else 0, output=json.dumps(left).encode())


def _refused(code: int, reason: str) -> AdminResponse:
    return AdminResponse(error_code=code, error_description=reason, exit_status=1, output=b"")
