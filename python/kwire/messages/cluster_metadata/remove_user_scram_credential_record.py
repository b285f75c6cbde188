"""RemoveUserScramCredentialRecord: the deletion of a SCRAM credential (KIP-900)."""

from __future__ import annotations

from kwire.declare import Message, int8, string


class RemoveUserScramCredentialRecord(Message, record_type=22, versions="0", flexible="0+"):
    """The credential of a user is deleted."""

    name: string
    """The user who cannot authenticate any longer."""
    mechanism: int8
    """1 SCRAM-SHA-256; 2 SCRAM-SHA-512."""
