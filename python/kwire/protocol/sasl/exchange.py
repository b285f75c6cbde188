"""The exchange of a SASL mechanism in Kafka's messages: SaslHandshake, then SaslAuthenticate (KIP-43, KIP-152).

    exchange = SaslExchange(endpoint, mechanism)
    request = exchange.start()
    while request is not None:
        request = exchange.receive(...)     # the response to request
    exchange.session_lifetime_ms            # KIP-368; 0 without a limit

After SaslHandshake of version 0 (Kafka 0.10 and 0.11, and some imitations), tokens travel as frames without headers:
`auth_bytes` of each SaslAuthenticateRequest is a payload, and the payload of the broker is the next challenge. If
`ends_silently` is true, the broker does not answer the last token.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.protocol.errors import AuthenticationFailed
from kwire.protocol.sasl.mechanism import SaslError

if TYPE_CHECKING:
    from kwire.protocol.endpoint import Endpoint
    from kwire.protocol.sasl.mechanism import SaslMechanism

HANDSHAKE_VERSION = 1
"""The version after which tokens travel in SaslAuthenticate (Kafka 1.0)."""
RAW_HANDSHAKE_VERSION = 0
"""The version after which tokens travel as frames of their own, and a refusal closes the connection."""


class SaslExchange:
    """One authentication on one connection.

    Attributes:
        session_lifetime_ms: milliseconds until the broker closes the connection unless the client authenticates again;
            0 without a limit.
    """

    def __init__(self, endpoint: Endpoint, mechanism: SaslMechanism) -> None:
        self.session_lifetime_ms = 0
        self._has_answered = False
        self._endpoint = endpoint
        self._mechanism = mechanism

    @property
    def ends_silently(self) -> bool:
        """True if the last token completes the mechanism, so that a broker with frames of tokens sends no more of them.

        It answers the first token in any case, as Kafka's SaslClientAuthenticator expects.
        """
        return self._has_answered and self._mechanism.is_complete

    def start(self) -> SaslHandshakeRequest:
        """Return the first request."""
        return SaslHandshakeRequest(mechanism=self._mechanism.name)

    def receive(self, response: SaslHandshakeResponse | SaslAuthenticateResponse) -> SaslAuthenticateRequest | None:
        """Process the response to the last request.

        Returns:
            The next request; None if the client is authenticated.

        Raises:
            AuthenticationFailed: the broker rejects the mechanism or the credential, or cannot be trusted.
        """
        if isinstance(response, SaslHandshakeResponse):
            self._check_handshake(response)
            return self._next(b"")
        if response.error_code:
            raise self._failed(response.error_message or f"error code {response.error_code}", response.error_code)
        self._has_answered = True
        if self._mechanism.is_complete and not response.auth_bytes:
            self.session_lifetime_ms = response.session_lifetime_ms
            return None
        request = self._next(response.auth_bytes)
        if request is None:
            self.session_lifetime_ms = response.session_lifetime_ms
        return request

    def _next(self, challenge: bytes) -> SaslAuthenticateRequest | None:
        try:
            token = self._mechanism.respond(challenge)
        except SaslError as error:
            raise self._failed(error.reason) from None
        return None if token is None else SaslAuthenticateRequest(auth_bytes=token)

    def _check_handshake(self, response: SaslHandshakeResponse) -> None:
        match response.error_code:
            case ErrorCode.NONE:
                return
            case ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                enabled = ", ".join(response.mechanisms) or "none"
                reason = f"the listener does not have this mechanism (sasl.mechanism); it has {enabled}"
            case ErrorCode.ILLEGAL_SASL_STATE:
                reason = (
                    "the listener has no SASL: set security.protocol to SSL or PLAINTEXT, or connect to another port"
                )
            case code:
                reason = f"SaslHandshake failed with error code {code}"
        raise self._failed(reason, response.error_code)

    def _failed(self, reason: str, error_code: int = 0) -> AuthenticationFailed:
        return AuthenticationFailed(self._endpoint, self._mechanism.name, self._mechanism.user, reason, error_code)
