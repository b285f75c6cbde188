"""GSSAPI (RFC 4752): Kerberos. The security context does the cryptography; this module speaks SASL around it.

Kafka uses the context for authentication only: no security layer is negotiated.
"""

from __future__ import annotations

from kwire._util.light_typing import Protocol
from kwire.protocol.sasl.mechanism import SaslError, SaslMechanism

NO_SECURITY_LAYER = 1


class SecurityContext(Protocol):
    """Security context of the mechanism; `kwire.client.security.kerberos` implements it.

    Every method raises SaslError with the reason of the library.
    """

    def step(self, token: bytes | None) -> bytes | None:
        """Process a token of the broker, None for the first step, and return the next token, if any."""

    @property
    def complete(self) -> bool:
        """True once the context is established."""

    def wrap(self, message: bytes) -> bytes:
        """Protect a message without encrypting it."""

    def unwrap(self, message: bytes) -> bytes:
        """Verify a protected message and return its content."""


class GssapiMechanism(SaslMechanism):
    """Authenticate with a Kerberos ticket.

    Args:
        context: a new security context with the principal of the broker as its target.
        user: the principal of the client; None for the principal of the ticket cache.
    """

    __slots__ = ("_context", "_started")

    def __init__(self, context: SecurityContext, user: str | None = None) -> None:
        super().__init__("GSSAPI", user)
        self._context = context
        self._started = False

    def respond(self, challenge: bytes) -> bytes | None:
        if self.is_complete:
            return None  # both sides have proved themselves, and Java ignores what follows
        if not self._context.complete:
            token = self._context.step(challenge if self._started else None)
            self._started = True
            return token or b""  # an established context acknowledges with an empty response
        return self._accept_no_security_layer(challenge)

    def _accept_no_security_layer(self, challenge: bytes) -> bytes:
        """Answer the offer of security layers: four bytes, a bit mask of layers and the size of a message."""
        offer = self._context.unwrap(challenge)
        if len(offer) != 4:
            raise SaslError(f"the broker's offer of security layers has {len(offer)} bytes: 4 were expected")
        if not offer[0] & NO_SECURITY_LAYER:
            raise SaslError("the broker requires a security layer, which Kafka's protocol does not have")
        self.is_complete = True
        return self._context.wrap(bytes((NO_SECURITY_LAYER, 0, 0, 0)))
