"""ConsumerGroupDescribe (key 69): the state of groups that follow the new consumer protocol (KIP-848, Kafka 3.7).

Groups of the classic protocol are DescribeGroups' affair; each group's coordinator answers for it.

Versions:
    1  which protocol each member speaks (KIP-1099, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string, uuid


class ConsumerGroupDescribeRequest(Request["ConsumerGroupDescribeResponse"], api_key=69, versions="0-1", flexible="0+"):
    """Asks a coordinator about some of its groups."""

    group_ids: array[string]
    """The groups to describe; all must have the broker that is asked as their coordinator."""
    include_authorized_operations: bool
    """Whether to work out what the caller may do with each group."""


class ConsumerGroupDescribeResponse(Message, api_key=69, versions="0-1", flexible="0+"):
    """The groups as their coordinator knows them."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    groups: array[DescribedGroup]
    """One entry a group of the request."""


class DescribedGroup(Struct):
    """One group, its members, and how far they are with their assignment."""

    error_code: int16
    """0, 14 or 15 try again, 16 not the coordinator, 30 not permitted, 35 no such protocol here, 69 no such group."""
    error_message: nullable[string] = None
    """What exactly was wrong, in words; None on success."""
    group_id: string
    """The name that its members share (``group.id``)."""
    group_state: string
    """``Empty``, ``Assigning``, ``Reconciling``, ``Stable`` or ``Dead``; empty on error."""
    group_epoch: int32
    """Raised whenever members, subscriptions or partitions change, so that a new assignment is due."""
    assignment_epoch: int32
    """The group epoch for which the target assignment was worked out; behind it while ``Assigning``."""
    assignor_name: string
    """The rule on the broker that spreads the partitions, e.g. ``uniform`` or ``range``."""
    members: array[Member]
    """The members; empty on error."""
    authorized_operations: int32 = -2147483648
    """What the caller may do with the group: bit n for ACL operation n; -2147483648 when it was not asked for."""


class Member(Struct):
    """One consumer of the group."""

    member_id: string
    """The identity it chose for itself when it joined, a random uuid."""
    instance_id: nullable[string] = None
    """Its fixed name over restarts (``group.instance.id``, KIP-345); None when it has none."""
    rack_id: nullable[string] = None
    """Where it stands (``client.rack``); None when not configured."""
    member_epoch: int32
    """The assignment epoch it has caught up with; -2 while a member with a fixed name is away."""
    client_id: string
    """What it calls itself in the header of its requests (``client.id``)."""
    client_host: string
    """The address it last connected from, with a ``/`` before it."""
    subscribed_topic_names: array[string]
    """Those it listed one by one, in no order; empty when it chose by expression alone."""
    subscribed_topic_regex: nullable[string] = None
    """The RE2 expression it subscribed by; None, or empty from older brokers, when there is none."""
    assignment: Assignment
    """The partitions it reads now."""
    target_assignment: Assignment
    """The partitions it shall read; differs from ``assignment`` until it has let go of some and got others."""
    member_type: int8 = field(since=1, default=-1, ignorable=True)
    """The protocol it speaks: 0 classic, 1 consumer, -1 not told. Both occur while a group is being upgraded."""


class Assignment(Struct):
    """A set of partitions."""

    topic_partitions: array[TopicPartitions]
    """Grouped by topic; empty when the member has nothing to read."""


class TopicPartitions(Struct):
    """The partitions of one topic."""

    topic_id: uuid
    """Tells the topic from a later one of the same name (KIP-516)."""
    topic_name: string
    """What it is called at the time of the answer."""
    partitions: array[int32]
    """The numbers of the partitions within the topic."""
