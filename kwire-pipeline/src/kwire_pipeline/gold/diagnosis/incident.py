"""Incidents and their stable ids."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_pipeline.gold.diagnosis.signal import Signal


class IncidentKind(StrEnum):
    """The kinds of incidents; docs/gold.md describes how each is recognized."""

    TOPIC_CREATED = "topic_created"
    TOPIC_DELETED = "topic_deleted"
    TOPIC_RECREATED = "topic_recreated"
    PARTITIONS_ADDED = "partitions_added"
    BROKER_KILLED = "broker_killed"
    BROKER_PAUSED = "broker_paused"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"
    BROKER_LOST = "broker_lost"
    BROKER_RESTARTED = "broker_restarted"
    BROKER_RESUMED = "broker_resumed"
    BROKER_RETURNED = "broker_returned"
    REASSIGNMENT = "reassignment"
    PREFERRED_ELECTION = "preferred_election"
    CONTROLLER_MOVED = "controller_moved"
    CONFIG_CHANGED = "config_changed"
    CLUSTER_UNREACHABLE = "cluster_unreachable"
    REPLICA_LAGGING = "replica_lagging"
    LEADERS_MOVED = "leaders_moved"
    GROUP_STALLED = "group_stalled"
    LOG_DIR_OFFLINE = "log_dir_offline"
    DISK_ALMOST_FULL = "disk_almost_full"
    CONFIG_DRIFTED = "config_drifted"


class Sign(StrEnum):
    """The signs of incidents. Of several at one time the first in this order is the first sign."""

    RESPONDS = "responds"
    LISTED = "listed"
    CONFIGS = "configs"
    CONTROLLER = "controller"
    ELECTING = "electing"
    UNLISTED = "unlisted"
    ISR_EXPAND = "isr_expand"
    ISR_SHRINK = "isr_shrink"
    LEADERLESS = "leaderless"
    LEADERS_MOVED = "leaders_moved"
    OFFLINE_REPLICAS = "offline_replicas"
    REPLICAS = "replicas"
    POLL_FAILED = "poll_failed"
    TOPICS = "topics"
    COMMITS = "commits"
    LOG_DIR = "log_dir"


class PartitionCount:
    """The number of different partitions in signals.

    A partition that is reported several times counts once, if the signals have hashes of their partitions.
    """

    __slots__ = ("_hashes", "_others")

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._others = 0

    def add(self, signal: Signal) -> None:
        """Add the partitions of a signal."""
        if signal.partition_hashes:
            self._hashes.update(signal.partition_hashes)
        else:
            self._others += signal.partitions

    @property
    def hashes(self) -> list[int]:
        """The hashes of the partitions, sorted."""
        return sorted(self._hashes)

    @property
    def count(self) -> int:
        """The number of different partitions."""
        return len(self._hashes) + self._others


_ORDER = {sign: position for position, sign in enumerate(Sign)}


@dataclass(slots=True)
class Incident:
    """An event that an operator caused or that happened to a cluster. Times are microseconds since 1970."""

    kind: IncidentKind
    cause: str
    began_at: int
    """The time at which the broker that reported the first sign last reported the opposite."""
    first_sign_at: int
    first_sign: Sign
    broker_id: int | None = None
    ended_at: int | None = None
    """The end of the last sign; None while the incident lasts."""
    topics: set[str] = field(default_factory=set)
    partitions: PartitionCount = field(default_factory=PartitionCount)
    under_replicated: PartitionCount = field(default_factory=PartitionCount)
    offline: PartitionCount = field(default_factory=PartitionCount)
    electing: PartitionCount = field(default_factory=PartitionCount)
    leaders_moved: PartitionCount = field(default_factory=PartitionCount)
    seen_at: dict[Sign, int] = field(default_factory=dict)
    """The first time of each sign."""
    caused_by: Incident | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    subject: str = ""
    """The subject besides a broker, such as a group; '' if the broker or topics identify the incident."""

    @classmethod
    def of(cls, kind: IncidentKind, cause: str, signal: Signal, sign: Sign, broker_id: int | None = None) -> Incident:
        """Return the incident whose first sign is a signal."""
        incident = cls(kind, cause, min(signal.earliest, signal.at), signal.at, sign, broker_id)
        incident.add_sign(sign, signal.at)
        return incident

    def add_sign(self, sign: Sign, at: int) -> None:
        """Record a sign, unless an earlier one of its kind is known."""
        if at < self.seen_at.get(sign, at + 1):
            self.seen_at[sign] = at

    def signs_by_time(self) -> list[tuple[Sign, int]]:
        """Return the signs with their first times, earliest first."""
        return sorted(self.seen_at.items(), key=lambda item: (item[1], _ORDER[item[0]]))

    def id(self, cluster_id: str) -> str:
        """Return the id: twelve hexadecimal digits, which a rebuild of gold does not change."""
        topic = "" if self.subject else min(self.topics, default="")
        broker_or_topic = self.broker_id if self.broker_id is not None else topic
        scope = self.attributes.get("scope", "") or self.subject
        text = f"{cluster_id}\0{self.kind}\0{broker_or_topic}\0{self.first_sign_at}\0{scope}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def covers(self, at: int, margin: int) -> bool:
        """Return whether `at` is during the incident, or at most `margin` before or after."""
        return self.began_at - margin <= at and (self.ended_at is None or at <= self.ended_at + margin)
