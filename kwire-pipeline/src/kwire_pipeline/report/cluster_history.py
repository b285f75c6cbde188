"""The history of a cluster, as a report shows it. Times are microseconds since 1970, UTC."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["BrokerHistory", "ClusterHistory", "ConfigDrift", "ConfigHistoryEntry", "ReportedIncident"]

POINTS = 400
"""Points on a time axis: as many as a wide screen can show."""


STALE_AFTER = 600_000_000
"""Minimum age of stale data in microseconds: ten minutes. Chosen, not measured."""

STALE_INTERVALS = 5
"""Minimum age of stale data in mean intervals between polls. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class ReportedIncident:
    """A row of gold's `incidents`. `ended` is None while the incident lasts; `caused_by` is the id of another one."""

    id: str
    kind: str
    cause: str
    broker: int | None
    began: int
    ended: int | None
    topics: tuple[str, ...]
    topic_count: int
    partitions: int
    under_replicated: int
    offline: int
    electing: int
    leaders_moved: int
    caused_by: str | None
    attributes: dict[str, str]


@dataclass(slots=True)
class BrokerHistory:
    """The history of one broker.

    Attributes:
        leaders: partitions that the broker leads at the last poll.
        replicas: replicas that the broker holds at the last poll.
        leaders_fair: the leaders of an equal share.
        polls: number of polls, including the failed ones.
        failed: number of failed polls.
        median_ms: median latency; None where no duration was recorded.
        max_ms: highest latency; None where no duration was recorded.
        latency: the highest latency in milliseconds of each time bucket.
        unreachable: periods from the last response to the next one, which is None while the broker does not answer.
    """

    id: int
    leaders: int = 0
    replicas: int = 0
    leaders_fair: float = 0.0
    polls: int = 0
    failed: int = 0
    median_ms: float | None = None
    max_ms: float | None = None
    latency: list[tuple[int, float]] = field(default_factory=list)
    unreachable: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def unreachable_since(self) -> int | None:
        return self.unreachable[-1][0] if self.unreachable and self.unreachable[-1][1] is None else None


@dataclass(frozen=True, slots=True)
class ConfigHistoryEntry:
    """A changed config of a topic or broker; `old_value` and `value` are None where the config is unset."""

    at: int
    resource_type: str
    resource: str
    key: str
    old_value: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class ConfigDrift:
    """A topic config that differs from the inherited value; `topics` are the first of `count` topics."""

    key: str
    value: str | None
    inherited_value: str | None
    count: int
    topics: tuple[str, ...]


@dataclass(slots=True)
class ClusterHistory:
    """The history of a cluster from the first poll of the window to the last.

    Attributes:
        began: time of the first poll.
        ended: time of the last poll.
        topics: number of topics at the last poll.
        partitions: number of partitions at the last poll.
        now: for each flag, the number of partitions that have it at the last poll.
        partition_counts: for each flag, the number of partitions that have it over time, as steps `(at, count)`.
        unhealthy: partitions with problems at the last poll, as `(topic, partition, flag, since)`.
        unhealthy_topics: the partitions of all of them by topic and flag, and since when the first one has been so.
        leader_moves: number of leader moves by reason.
        leader_moves_over_time: for each reason, the number of leader moves of each time bucket.
        most_moved: partitions with the most leader moves, as `(topic, partition, moves)`.
        moved_partitions: number of partitions with leader moves.
        moves_of_topics: number of leader moves by topic.
        isr_churn: partitions with the most ISR changes, as `(topic, partition, changes, changes in the worst hour)`.
        churning_partitions: number of partitions with ISR changes.
        isr_changes_of_topics: number of ISR changes by topic.
        config_change_count: number of config changes; `config_changes` has the last ones.
        unreadable_responses: number of responses that could not be decoded.
        poll_gaps: times without polls, as `(began, ended)`; overlapping gaps of several brokers are one.
        reported_at: the time of the report, by which its data can be stale; None for a window that ends before.
    """

    cluster_id: str
    began: int
    ended: int
    brokers: list[BrokerHistory] = field(default_factory=list)
    topics: int = 0
    partitions: int = 0
    now: dict[str, int] = field(default_factory=dict)
    partition_counts: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    unhealthy: list[tuple[str, int, str, int]] = field(default_factory=list)
    unhealthy_topics: dict[tuple[str, str], tuple[list[int], int]] = field(default_factory=dict)
    incidents: list[ReportedIncident] = field(default_factory=list)
    leader_moves: dict[str, int] = field(default_factory=dict)
    leader_moves_over_time: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    most_moved: list[tuple[str, int, int]] = field(default_factory=list)
    moved_partitions: int = 0
    moves_of_topics: dict[str, int] = field(default_factory=dict)
    isr_churn: list[tuple[str, int, int, int]] = field(default_factory=list)
    churning_partitions: int = 0
    isr_changes_of_topics: dict[str, int] = field(default_factory=dict)
    config_changes: list[ConfigHistoryEntry] = field(default_factory=list)
    config_change_count: int = 0
    config_drift: list[ConfigDrift] = field(default_factory=list)
    unreadable_responses: int = 0
    poll_gaps: list[tuple[int, int]] = field(default_factory=list)
    reported_at: int | None = None

    @property
    def age(self) -> int | None:
        """Microseconds from the last poll to the report."""
        return None if self.reported_at is None else max(self.reported_at - self.ended, 0)

    @property
    def is_stale(self) -> bool:
        """True if polls are missing at the end, so that the current state is unknown."""
        polls = max((broker.polls for broker in self.brokers), default=0)
        interval = (self.ended - self.began) / max(polls - 1, 1)
        return self.age is not None and self.age > max(STALE_AFTER, STALE_INTERVALS * interval)

    @property
    def unreachable_since(self) -> int | None:
        """Since when no polled broker has answered, so that the last known state may no longer hold."""
        for incident in self.incidents:
            if incident.kind == "cluster_unreachable" and incident.ended is None:
                return incident.began
        polled = [broker.unreachable_since for broker in self.brokers if broker.polls]
        since = [at for at in polled if at is not None]
        return max(since) if since and len(since) == len(polled) else None

    @property
    def bucket(self) -> int:
        """Microseconds between two points of the time axis; whole seconds."""
        return max(1, -(-(self.ended - self.began) // (POINTS * 1_000_000))) * 1_000_000
