"""RemoveAccessControlEntryRecord: the deletion of an ACL (KIP-801)."""

from __future__ import annotations

from kwire.declare import Message, uuid


class RemoveAccessControlEntryRecord(Message, record_type=19, versions="0", flexible="0+"):
    """An ACL is deleted."""

    id: uuid
    """The unique id given at creation."""
