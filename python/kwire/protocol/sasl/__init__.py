"""SASL authentication of a client without I/O: mechanisms, and their exchange in Kafka's messages.

A mechanism turns the challenges of a broker into responses. `SaslExchange` carries them in SaslHandshake and
SaslAuthenticate.
"""

from __future__ import annotations

from kwire.protocol.sasl.exchange import HANDSHAKE_VERSION, SaslExchange
from kwire.protocol.sasl.gssapi import GssapiMechanism, SecurityContext
from kwire.protocol.sasl.mechanism import PlainMechanism, SaslError, SaslMechanism
from kwire.protocol.sasl.oauthbearer import OAuthBearerMechanism
from kwire.protocol.sasl.scram import ScramMechanism

__all__ = [
    "HANDSHAKE_VERSION",
    "GssapiMechanism",
    "OAuthBearerMechanism",
    "PlainMechanism",
    "SaslError",
    "SaslExchange",
    "SaslMechanism",
    "ScramMechanism",
    "SecurityContext",
]
