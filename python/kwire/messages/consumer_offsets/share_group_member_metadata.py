"""ShareGroupMemberMetadata: a member of a share group (KIP-932)."""

from __future__ import annotations

from kwire.declare import Message, array, nullable, string


class ShareGroupMemberMetadataKey(Message, record_type=10, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class ShareGroupMemberMetadataValue(Message, record_type=10, versions="0", flexible="0+"):
    """The subscription and the client of a member. A record without a value removes the member."""

    rack_id: nullable[string]
    """The rack of the client (`client.rack`); None if not configured."""
    client_id: string
    """The `client.id` that its requests have."""
    client_host: string
    """The address from which the client connects, with a leading slash."""
    subscribed_topic_names: array[string]
    """The topics that the client names explicitly."""
