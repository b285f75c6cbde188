"""AccessControlEntryRecord: an ACL (KIP-801)."""

from __future__ import annotations

from kwire.declare import Message, int8, string, uuid


class AccessControlEntryRecord(Message, record_type=18, versions="0", flexible="0+"):
    """An ACL is created."""

    id: uuid
    """The unique id of the rule, which the controller generates."""
    resource_type: int8
    """The number of the type as in ACL and config requests, for example 2 for topics."""
    resource_name: string
    """The name, or `*` in ACLs for all of the type; empty for the default of all brokers."""
    pattern_type: int8
    """3 literal; 4 prefixed."""
    principal: string
    """The type and name of the user, for example `User:alice`."""
    host: string
    """The address from which the rule applies, or `*` for all."""
    operation: int8
    """The number of the operation as in ACL requests, for example 3 for read."""
    permission_type: int8
    """2 deny; 3 allow."""
