"""Signals: what the brokers reported at one time, summed up.

A signal sums up one kind of change that one broker reported at one time: "at 12:00:07 broker 1 reported that 17
partitions led by broker 2 have lost replica 3". A failed broker with 400 partitions gives a handful of signals,
whatever the number of its topics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_BROKER = -1


class SignalKind(StrEnum):
    """Kinds of signals. Signals of one time are processed in the order of this enum.

    The texts say what `broker_id`, `other_broker_id`, and `detail` mean for the kind.
    """

    REPLICAS_ADDED = "replicas_added"
    """Partitions ended a reassignment: the replicas that it adds are in sync."""
    ADDING_REPLICAS = "adding_replicas"
    """Partitions began a reassignment: it adds replicas that are not in sync yet."""
    OUT_OF_SYNC = "out_of_sync"
    """Replicas on `broker_id` became out of sync or offline; replicas that a reassignment adds do not count."""
    POLL_RECOVERED = "poll_recovered"
    """`broker_id` responds again after failed polls."""
    PARTITIONS_APPEARED = "partitions_appeared"
    """Partitions of `topic` appeared.

    Detail: `topic_id`; `known` if a topic with this name existed before, with its id in `was_topic_id`; `before`, the
    number of older partitions; `initial` if the broker reports for the first time.
    """
    CONFIG_CHANGED = "config_changed"
    """A config changed. Detail: `scope`, `resource`, `key`, `old_value`, `value`."""
    CONTROLLER_CHANGED = "controller_changed"
    """The controller moved from `other_broker_id` to `broker_id` (not under KRaft)."""
    PREFERRED_LEADER_ELECTED = "preferred_leader_elected"
    """Leaders moved from `broker_id`, which is in sync, to the preferred replica on `other_broker_id`."""
    ELECTING = "electing"
    """Partitions led by `broker_id` have no leader, under the same leader epoch."""
    POLL_FAILED = "poll_failed"
    """The first or second failed poll of `broker_id` in a row, or one that fails in another way. Detail: `failure`."""
    BACK_IN_SYNC = "back_in_sync"
    """Replicas on `broker_id` are no longer out of sync."""
    FIRST_RESPONSE = "first_response"
    """The first response of `broker_id` in an hour."""
    ISR_JOINED = "isr_joined"
    """Replicas on `broker_id` joined ISRs led by `other_broker_id`."""
    ISR_LEFT = "isr_left"
    """Replicas on `broker_id` left ISRs led by `other_broker_id`."""
    LEADERLESS = "leaderless"
    """Partitions led by `broker_id` have no leader, under a new leader epoch."""
    BROKER_LISTED = "broker_listed"
    """`reported_by` lists `broker_id` again."""
    LEADER_LOST = "leader_lost"
    """Leaders moved from `broker_id`, which is out of sync, to `other_broker_id`."""
    LEADER_REASSIGNED = "leader_reassigned"
    """Leaders moved from `broker_id` to `other_broker_id` during a reassignment."""
    REPLICA_OFFLINE = "replica_offline"
    """Replicas on `broker_id` are reported as offline."""
    REPLICAS_CHANGED = "replicas_changed"
    """The replicas of partitions changed. Detail: `step`, which is `start` or `end` of a reassignment."""
    POLL_INTERVAL = "poll_interval"
    """Once an hour. Detail: `interval_us` between polls of the slowest broker, if one was polled twice; `end`, the
    last poll.
    """
    LEADER_MOVED = "leader_moved"
    """Leaders moved from `broker_id`, which is in sync, to a replica on `other_broker_id` that is not preferred."""
    BROKER_UNLISTED = "broker_unlisted"
    """`reported_by` no longer lists `broker_id`."""
    PARTITIONS_VANISHED = "partitions_vanished"
    """Partitions of `topic` vanished. Detail: `topic_id`, `before`."""
    GROUP_STALLED = "group_stalled"
    """Logs grow, and a group has not committed. Detail: `group`; `state`, if it is known."""
    GROUP_CONTINUED = "group_continued"
    """A group that had stalled has committed, or no longer has committed offsets. Detail: `group`."""
    LOG_DIR_OFFLINE = "log_dir_offline"
    """A log directory of `broker_id` went offline. Detail: `log_dir`, `error_code`, `total_bytes`, `usable_bytes`."""
    LOG_DIR_ONLINE = "log_dir_online"
    """A log directory of `broker_id` is online again. The detail is the same as of LOG_DIR_OFFLINE."""
    DISK_FULL = "disk_full"
    """The volume of a log directory of `broker_id` became almost full. The detail is the same as of LOG_DIR_OFFLINE."""
    DISK_FREE = "disk_free"
    """The volume of a log directory of `broker_id` has space again. The detail is the same as of LOG_DIR_OFFLINE."""
    CONFIG_CONFORMS = "config_conforms"
    """A config equals the desired one again. Detail: `resource_type`, `resource`, `key`, `desired_value`, `value`."""
    CONFIG_DEVIATED = "config_deviated"
    """A config differs from the desired one. The detail is the same as of CONFIG_CONFORMS."""


class PollFailure(StrEnum):
    """Kinds of failed polls."""

    REFUSED = "refused"
    """Nothing listens at the endpoint."""
    TIMED_OUT = "timed_out"
    """The connection is open, but no response comes."""
    CLOSED = "closed"
    """The connection was closed."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of change that one broker reported at one time. Times are microseconds since 1970."""

    kind: SignalKind
    at: int
    """The response that reported it, or the failed poll."""
    not_before: int | None
    """The time at which the same broker last reported the opposite; None if it had not reported before."""
    reported_by: int = NO_BROKER
    broker_id: int = NO_BROKER
    """The broker that the signal is about; see `SignalKind`."""
    other_broker_id: int = NO_BROKER
    topic: str | None = None
    partitions: int = 0
    """Number of partitions."""
    partition_hashes: Sequence[int] = ()
    """A hash of each partition, by which signals about the same partitions are recognized; empty if not known."""
    topics: Sequence[str] = ()
    """The topics of the partitions, sorted."""
    detail: Mapping[str, str] = field(default_factory=dict)
    filed_at: int = 0
    """The hour under which it is stored; 0 for a signal of a summary (`summary`)."""

    @property
    def earliest(self) -> int:
        """The earliest time at which the change can have happened, as far as it is known."""
        return self.at if self.not_before is None else self.not_before


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals of a cluster in order, and the resolution of its polls."""

    all: Sequence[Signal]
    settle: int
    """Settling time in microseconds: signals of one cause follow one another within three seconds, which is longer
    than any broker was seen to lag behind another, or within two polls if that is longer.
    """
    interval: int
    """Microseconds between two polls of a broker; 0 if no broker was polled twice."""
    end: int
    """The time of the last poll."""

    def of(self, *kinds: SignalKind) -> list[Signal]:
        """Return the signals of some kinds, in order."""
        return [signal for signal in self.all if signal.kind in kinds]
