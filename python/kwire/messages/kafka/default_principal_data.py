"""DefaultPrincipalData: the principal of a client in an Envelope request (KIP-590, Kafka 2.8).

It is preceded by its version as an int16. Brokers with their own `principal.builder.class` can use another format.
"""

from __future__ import annotations

from kwire.declare import Message, string


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    """The principal that the receiving broker authenticated."""

    type: string
    """The principal type, usually `User`."""
    name: string
    """The name within the type, for example of a SASL user."""
    token_authenticated: bool
    """True if the client used a delegation token to authenticate."""
