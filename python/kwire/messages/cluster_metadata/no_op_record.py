"""NoOpRecord: nothing (KIP-835)."""

from __future__ import annotations

from kwire.declare import Message


class NoOpRecord(Message, record_type=20, versions="0", flexible="0+"):
    """A record without content, which lets the high watermark advance while the cluster is idle."""
