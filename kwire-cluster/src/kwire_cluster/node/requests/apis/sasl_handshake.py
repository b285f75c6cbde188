"""SaslHandshake, key 17: choose a SASL mechanism. Tokens follow in SaslAuthenticate, so version 0 is not supported."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

PERMISSIONS = ()

WITH_SASL_AUTHENTICATE = 1


async def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    """Choose a mechanism.

    On a listener without SASL, and less than a second after the last authentication, the answer is ILLEGAL_SASL_STATE.
    """
    client = context.client
    if client is None or client.authentication is None or not client.authentication.is_repeatable:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
    authentication = client.authentication
    if context.version < WITH_SASL_AUTHENTICATE:
        authentication.failure = "the client sends SASL tokens without SaslAuthenticate"
        return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, mechanisms=authentication.enabled)
    if not authentication.choose(request.mechanism):
        await asyncio.sleep(context.node.settings.failed_authentication_delay_ms / 1000)
        return SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=authentication.enabled)
    return SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=authentication.enabled)
