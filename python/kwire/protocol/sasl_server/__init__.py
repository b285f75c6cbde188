"""SASL authentication of a server without I/O: mechanisms that verify what clients prove."""

from __future__ import annotations

from kwire.protocol.sasl_server.mechanism import AuthenticationRejected, PlainServer, ServerMechanism
from kwire.protocol.sasl_server.scram import ScramCredential, ScramServer, decoy

__all__ = ["AuthenticationRejected", "PlainServer", "ScramCredential", "ScramServer", "ServerMechanism", "decoy"]
