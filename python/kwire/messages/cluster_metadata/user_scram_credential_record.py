"""UserScramCredentialRecord: the SCRAM credential of a user (KIP-900)."""

from __future__ import annotations

from kwire.declare import Message, field, int8, int32, string


class UserScramCredentialRecord(Message, record_type=11, versions="0", flexible="0+"):
    """The credential of a user is set."""

    name: string
    """The user who authenticates with it."""
    mechanism: int8
    """1 SCRAM-SHA-256; 2 SCRAM-SHA-512."""
    salt: bytes = field(sensitive=True)
    """Random bytes that the password is hashed with."""
    stored_key: bytes = field(sensitive=True)
    """The hash that verifies the proof of the client."""
    server_key: bytes = field(sensitive=True)
    """The key that signs the proof of the broker."""
    iterations: int32
    """The number of rounds of the hash."""
