"""ConsumerGroupMemberMetadata: a member of a consumer group (KIP-848)."""

from __future__ import annotations

from kwire.declare import Message, Struct, array, field, int32, maybe, nullable, string


class ClassicProtocol(Struct):
    """A protocol of a member with its subscription."""

    name: string
    """The strategy, for example `range`."""
    metadata: bytes
    """ConsumerProtocolSubscription after its version."""


class ClassicMemberMetadata(Struct):
    """The subscription of a member that uses the classic protocol (KIP-848)."""

    session_timeout_ms: int32
    """Time in milliseconds without a heartbeat after which the client is removed (`session.timeout.ms`)."""
    supported_protocols: array[ClassicProtocol]
    """The assignors of the client in order of preference."""


class ConsumerGroupMemberMetadataKey(Message, record_type=5, versions="0"):
    """The member that the value describes."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    member_id: string
    """The id of the member, from the coordinator or, in newer protocols, from the client."""


class ConsumerGroupMemberMetadataValue(Message, record_type=5, versions="0", flexible="0+"):
    """The subscription and the client of a member. A record without a value removes the member."""

    instance_id: nullable[string]
    """The static id of a client (`group.instance.id`); None for dynamic members."""
    rack_id: nullable[string]
    """The rack of the client (`client.rack`); None if not configured."""
    client_id: string
    """The `client.id` that its requests have."""
    client_host: string
    """The address from which the client connects, with a leading slash."""
    subscribed_topic_names: array[string]
    """The topics that the client names explicitly."""
    subscribed_topic_regex: nullable[string]
    """The pattern of topics in the syntax of RE2/J (KIP-848); None without one."""
    rebalance_timeout_ms: int32 = -1
    """Maximum time in milliseconds to give up revoked parts; -1 if unknown."""
    server_assignor: nullable[string]
    """The assignor of the broker that the client chose (`group.remote.assignor`); None for the default."""
    classic_member_metadata: maybe[ClassicMemberMetadata] = field(
        tag=0, default=ClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())
    )
    """The protocols of a client that uses JoinGroup; None if it uses the newer protocol. A record without this tag has
    the default, as in Kafka."""
