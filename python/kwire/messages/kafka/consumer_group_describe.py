"""ConsumerGroupDescribe (key 69): the state of groups of the consumer protocol (KIP-848, Kafka 3.7).

DescribeGroups describes groups of the classic protocol. The coordinator of each group responds.

Versions:
    1  member types (KIP-1099, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string, uuid


class ConsumerGroupDescribeRequest(Request["ConsumerGroupDescribeResponse"], api_key=69, versions="0-1", flexible="0+"):
    """Describes groups of a coordinator."""

    group_ids: array[string]
    """The groups to describe, all coordinated by the receiving broker."""
    include_authorized_operations: bool
    """True to include the operations that the client is authorized for on each group."""


class ConsumerGroupDescribeResponse(Message, api_key=69, versions="0-1", flexible="0+"):
    """The described groups."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    groups: array[DescribedGroup]
    """The described groups, one for each group of the request."""


class DescribedGroup(Struct):
    """A consumer group, its members, and the progress of their assignment."""

    error_code: int16
    """0; 14 or 15 retry; 16 not the coordinator; 30 not authorized; 35 protocol not supported; 69 group not found."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    group_id: string
    """The group id, set by `group.id` of its members."""
    group_state: string
    """`Empty`, `Assigning`, `Reconciling`, `Stable`, or `Dead`; empty on error."""
    group_epoch: int32
    """The epoch of the group, which increases whenever members, subscriptions, or partitions change."""
    assignment_epoch: int32
    """The group epoch of the target assignment; lower than `group_epoch` while `Assigning`."""
    assignor_name: string
    """The server-side assignor, for example `uniform` or `range`."""
    members: array[Member]
    """The members of the group; empty on error."""
    authorized_operations: int32 = -2147483648
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""


class Member(Struct):
    """A member of the group."""

    member_id: string
    """The member id, a random uuid that the consumer chose when it joined."""
    instance_id: nullable[string] = None
    """The static member id (`group.instance.id`, KIP-345), or None for a dynamic member."""
    rack_id: nullable[string] = None
    """The rack of the consumer (`client.rack`), or None if not configured."""
    member_epoch: int32
    """The assignment epoch that the member has reached; -2 while a static member is away."""
    client_id: string
    """The client id from the request header (`client.id`)."""
    client_host: string
    """The address of the last connection, preceded by `/`."""
    subscribed_topic_names: array[string]
    """The topics subscribed to by name, in no particular order."""
    subscribed_topic_regex: nullable[string] = None
    """The RE2 expression of the subscription; None (empty from older brokers) if there is none."""
    assignment: Assignment
    """The partitions that the member currently owns."""
    target_assignment: Assignment
    """The partitions that the member will own; equal to `assignment` once it has reconciled."""
    member_type: int8 = field(since=1, default=-1, ignorable=True)
    """The protocol of the member: 0 classic, 1 consumer, -1 unknown. Both occur while a group is upgraded."""


class Assignment(Struct):
    """A set of partitions."""

    topic_partitions: array[TopicPartitions]
    """The partitions by topic; empty if nothing is assigned."""


class TopicPartitions(Struct):
    """The assigned partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    topic_name: string
    """The name of the topic at the time of the response."""
    partitions: array[int32]
    """The partition indexes within the topic."""
