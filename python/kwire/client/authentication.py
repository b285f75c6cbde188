"""The SASL authentication of a connection, imported with the first one.

| the broker lists               | handshake | tokens travel                                                        |
|--------------------------------|-----------|----------------------------------------------------------------------|
| SaslAuthenticate (Kafka 1.0)   | version 1 | in SaslAuthenticate, which reports why a credential is refused       |
| SaslHandshake only (0.10)      | version 0 | as frames without headers; a refusal closes the connection           |
"""

from __future__ import annotations

import asyncio

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest
from kwire.protocol import AuthenticationFailed
from kwire.protocol.sasl import SaslError
from kwire.protocol.sasl.exchange import HANDSHAKE_VERSION, RAW_HANDSHAKE_VERSION, SaslExchange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kwire.client.security.credentials import SaslCredentials
    from kwire.declare import Request
    from kwire.protocol import Endpoint
    from kwire.protocol.sasl import SaslMechanism


def choose_handshake(versions: Mapping[int, tuple[int, int]]) -> int | None:
    """Return the version of SaslHandshake, which decides how tokens travel; None if the broker lists none of them."""
    lowest, highest = versions.get(SaslHandshakeRequest.api_key, (0, -1))
    for version in (HANDSHAKE_VERSION, RAW_HANDSHAKE_VERSION):
        has_messages = version == RAW_HANDSHAKE_VERSION or SaslAuthenticateRequest.api_key in versions
        if lowest <= version <= highest and has_messages:
            return version
    return None


async def start_mechanism(
    endpoint: Endpoint, credentials: SaslCredentials, versions: Mapping[int, tuple[int, int]], seconds: float
) -> SaslMechanism:
    """Return a mechanism with everything it needs, such as a token, within some seconds.

    Raises:
        AuthenticationFailed: a token or ticket is missing, or the broker lists no SaslHandshake.
    """
    name = credentials.sasl_mechanism
    if choose_handshake(versions) is None:
        raise AuthenticationFailed(endpoint, name, None, "the broker lists no version of SaslHandshake that kwire has")
    try:
        async with asyncio.timeout(seconds):
            return await credentials.start(endpoint)
    except SaslError as error:
        raise AuthenticationFailed(endpoint, name, None, error.reason) from None
    except TimeoutError:
        raise AuthenticationFailed(endpoint, name, None, f"no credential within {round(seconds, 2):g} s") from None


async def exchange_tokens(
    endpoint: Endpoint,
    mechanism: SaslMechanism,
    versions: Mapping[int, tuple[int, int]],
    send: Callable[[Request[Any], int | None], Awaitable[Any]],
    send_token: Callable[[bytes, bool], Awaitable[bytes]],
) -> int:
    """Authenticate, and return the limit of the session in milliseconds; 0 without a limit (KIP-368).

    Args:
        send: sends a request in a version, None for the highest one, and returns the decoded response.
        send_token: sends a frame without a header; returns the next frame, or no bytes if none is expected.

    Raises:
        ConnectionFault: the broker rejects the credential, does not respond, or closes the connection.
    """
    exchange = SaslExchange(endpoint, mechanism)
    version = choose_handshake(versions)
    request: Request[Any] | None = exchange.receive(await send(exchange.start(), version))
    while request is not None:
        if version == HANDSHAKE_VERSION:
            response = await send(request, None)
        else:
            assert isinstance(request, SaslAuthenticateRequest)
            is_last = exchange.ends_silently
            challenge = await send_token(request.auth_bytes, not is_last)
            if is_last:
                break
            response = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=challenge)
        request = exchange.receive(response)
    return exchange.session_lifetime_ms
