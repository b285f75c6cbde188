"""Heartbeat (key 12): keep the membership in a classic group alive, and learn about rebalances.

The coordinator of the group responds. Groups of the consumer protocol use ConsumerGroupHeartbeat.

Versions:
    1  throttle time
    2  throttled clients are answered at once and must wait themselves (KIP-219)
    3  static members (KIP-345, Kafka 2.3)
    4  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int32, nullable, string


class HeartbeatRequest(Request["HeartbeatResponse"], api_key=12, versions="0-4", flexible="4+"):
    """Reports that a member is alive. Sent every `heartbeat.interval.ms`."""

    group_id: string
    """The group that the member has joined."""
    generation_id: int32
    """The generation of the group that the member knows; error 22 if the group has a newer one."""
    member_id: string
    """The member id that JoinGroup returned; error 25 if the coordinator does not know it."""
    group_instance_id: nullable[string] = field(since=3, default=None)
    """The static member id (`group.instance.id`, KIP-345), which survives a restart; None for dynamic members."""


class HeartbeatResponse(Message, api_key=12, versions="0-4", flexible="4+"):
    """Validity of the membership."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 22 stale generation; 25 unknown member; 27 rebalance in progress, join
    again; 82 fenced static member."""
