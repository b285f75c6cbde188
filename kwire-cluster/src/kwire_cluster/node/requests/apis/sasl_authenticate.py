"""SaslAuthenticate, key 36: one step of the SASL exchange that SaslHandshake starts.

From version 1 on, the last response has the time after which the client must authenticate again (KIP-368).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.authorization.subjects import Subject
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.protocol.sasl_server import AuthenticationRejected

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

PERMISSIONS = ()


async def handle(request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    """Answer a token. A failed authentication is answered after a delay, and then the connection is closed.

    After too many wrong passwords of a user, the results of its authentications from this address take turns.
    """
    client = context.client
    if client is None or client.authentication is None:
        return _failure(ErrorCode.ILLEGAL_SASL_STATE, "the listener has no SASL")
    lifetime_ms = context.node.settings.max_reauth_ms
    try:
        token = client.authentication.respond(request.auth_bytes, lifetime_ms / 1000)
    except AuthenticationRejected as error:
        await client.authentication.wait_turn()
        await asyncio.sleep(context.node.settings.failed_authentication_delay_ms / 1000)
        return _failure(ErrorCode.SASL_AUTHENTICATION_FAILED, error.reason)
    is_complete = client.authentication.is_complete
    if is_complete:
        await client.authentication.wait_turn()
    if is_complete and client.subject is None:
        client.subject = Subject(f"User:{client.authentication.user}", client.host)
    return SaslAuthenticateResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        auth_bytes=token,
        session_lifetime_ms=lifetime_ms if is_complete else 0,
    )


def _failure(code: ErrorCode, reason: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=reason, auth_bytes=b"")
