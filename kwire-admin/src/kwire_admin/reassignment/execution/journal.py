"""The events of an execution, and the state of the run that they add up to.

    event                          phase after it
    started, taken-over, continued moving
    paused                         paused: moves in progress go on, slower; the next batch waits
    interrupted                    interrupted: `resume` continues with taken-over
    cancelling                     cancelling: `cancel` can be repeated
    cancelled, completed           final

Other events leave the phase as it is. An event is written before the request that it announces, and another event after
it, so a state that is rebuilt from a journal includes every request that may have been sent. The event that announces
a change of configs has their old values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kwire._util.readable import counted
from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment.errors import InvalidJournal
from kwire_admin.reassignment.plan import Move

if TYPE_CHECKING:
    from collections.abc import Iterable


class EventKind(StrEnum):
    """Kind of an event. The comment names its details."""

    STARTED = "started"  # cluster_id, moves, batches, rate, elections
    TAKEN_OVER = "taken-over"
    THROTTLING = "throttling"  # resource, previous: values by config, null for one that was not set
    UNTHROTTLED = "unthrottled"  # resource
    BATCH_STARTED = "batch-started"  # batch
    BATCH_COMPLETED = "batch-completed"  # batch
    MOVE_FAILED = "move-failed"  # partition, reason
    PAUSED = "paused"  # reason
    CONTINUED = "continued"
    RATE_CHANGED = "rate-changed"  # rate
    INTERRUPTED = "interrupted"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"  # partitions
    COMPLETED = "completed"


class Phase(StrEnum):
    """Phase of a run, which decides the possible commands."""

    MOVING = "moving"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    COMPLETED = "completed"

    @property
    def is_final(self) -> bool:
        """True if no further move is made."""
        return self in (Phase.CANCELLED, Phase.COMPLETED)


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event.

    Attributes:
        time: UTC, as ISO 8601.
        user: the user of the operating system.
        kind: the kind of the event.
        details: its details, as JSON values.
    """

    time: str
    user: str
    kind: EventKind
    details: dict[str, Any] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the event as a line of a journal."""
        return json.dumps({"time": self.time, "user": self.user, "event": self.kind.value, **self.details}) + "\n"

    @classmethod
    def from_line(cls, line: str) -> JournalEvent:
        """Return the event of a line.

        Raises:
            InvalidJournal: the line is not an event.
        """
        try:
            entry = json.loads(line)
            return cls(entry.pop("time"), entry.pop("user"), EventKind(entry.pop("event")), entry)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidJournal(f"a line of the journal cannot be read ({error}): {line[:80]!r}") from None


@dataclass(slots=True)
class RunState:
    """The state of a run.

    Attributes:
        cluster_id: the cluster; None if it has no id.
        started: time of its start in UTC, as ISO 8601.
        phase: its phase.
        batches: its moves in batches.
        rate: the throttle in bytes a second; None without one.
        elections: true if preferred leaders are elected after each batch.
        batch: index of the batch that was started last; -1 before the first batch.
        completed_batches: number of complete batches.
        failed: by partition, the reason why it was not moved.
        throttles: by resource, such as `topic orders`, configs that the run may have set, with previous values.
        reason: the reason of a pause; empty otherwise.
    """

    cluster_id: str | None = None
    started: str = ""
    phase: Phase = Phase.MOVING
    batches: tuple[tuple[Move, ...], ...] = ()
    rate: int | None = None
    elections: bool = True
    batch: int = -1
    completed_batches: int = 0
    failed: dict[TopicPartition, str] = field(default_factory=dict)
    throttles: dict[str, dict[str, str | None]] = field(default_factory=dict)
    reason: str = ""

    @property
    def moves(self) -> list[Move]:
        """All moves."""
        return [move for batch in self.batches for move in batch]

    @property
    def started_moves(self) -> list[Move]:
        """The moves of all batches that were started."""
        return [move for batch in self.batches[: self.batch + 1] for move in batch]

    @classmethod
    def of(cls, events: Iterable[JournalEvent]) -> RunState:
        """Return the state after events.

        Raises:
            InvalidJournal: the first event does not start a run, or an event lacks a detail.
        """
        state = cls()
        for number, event in enumerate(events):
            if (number == 0) != (event.kind is EventKind.STARTED):
                raise InvalidJournal("a journal starts with one event `started`")
            try:
                state.apply(event)
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidJournal(f"an event {event.kind} of the journal has the wrong details: {error}") from None
        return state

    def apply(self, event: JournalEvent) -> None:
        """Apply an event."""
        details = event.details
        match event.kind:
            case EventKind.STARTED:
                self.cluster_id, self.started, self.rate = details["cluster_id"], event.time, details["rate"]
                self.elections = details["elections"]
                self.batches = tuple(tuple(map(_move, batch)) for batch in details["batches"])
            case EventKind.TAKEN_OVER | EventKind.CONTINUED:
                self.phase, self.reason = Phase.MOVING, ""
            case EventKind.THROTTLING:
                # The first value counts: a later event would take the run's own throttle for the previous value.
                previous = self.throttles.setdefault(details["resource"], {})
                for name, value in details["previous"].items():
                    previous.setdefault(name, value)
            case EventKind.UNTHROTTLED:
                self.throttles.pop(details["resource"], None)
            case EventKind.BATCH_STARTED:
                self.batch = details["batch"]
            case EventKind.BATCH_COMPLETED:
                self.completed_batches = details["batch"] + 1
            case EventKind.MOVE_FAILED:
                topic, partition = details["partition"]
                self.failed[TopicPartition(topic, partition)] = details["reason"]
            case EventKind.PAUSED:
                self.phase, self.reason = Phase.PAUSED, details["reason"]
            case EventKind.INTERRUPTED:
                self.phase = Phase.INTERRUPTED
            case EventKind.CANCELLING:
                self.phase = Phase.CANCELLING
            case EventKind.CANCELLED:
                self.phase = Phase.CANCELLED
            case EventKind.COMPLETED:
                self.phase = Phase.COMPLETED
            case EventKind.RATE_CHANGED:
                pass  # the rate of the run stays; every batch begins with it


def started_details(
    cluster_id: str | None, batches: Iterable[Iterable[Move]], rate: int | None, *, elections: bool
) -> dict[str, Any]:
    """Return the details of the event that starts a run."""
    return {
        "cluster_id": cluster_id,
        "rate": rate,
        "elections": elections,
        "batches": [[[list(move.key), move.before, move.after, move.size, move.leader] for move in b] for b in batches],
    }


def audit_text(event: JournalEvent) -> str:
    """Return an event as a sentence for people."""
    details = event.details
    match event.kind:
        case EventKind.STARTED:
            moves = sum(map(len, details["batches"]))
            rate = "without throttle" if details["rate"] is None else f"at {details['rate']} bytes a second"
            return f"started {counted(moves, 'move')} in {counted(len(details['batches']), 'batch')} {rate}"
        case EventKind.TAKEN_OVER:
            return "taken over from a process that has ended"
        case EventKind.THROTTLING:
            before = ", ".join(
                f"{name} (was {'not set' if value is None else value})" for name, value in details["previous"].items()
            )
            return f"throttling {details['resource']}: {before}"
        case EventKind.UNTHROTTLED:
            return f"restored the configs of {details['resource']}"
        case EventKind.BATCH_STARTED:
            return f"started batch {details['batch'] + 1}"
        case EventKind.BATCH_COMPLETED:
            return f"completed batch {details['batch'] + 1}"
        case EventKind.MOVE_FAILED:
            topic, partition = details["partition"]
            return f"{topic}-{partition} was not moved: {details['reason']}"
        case EventKind.PAUSED:
            return f"paused: {details['reason']}"
        case EventKind.RATE_CHANGED:
            return f"changed the throttle to {details['rate']} bytes a second"
        case EventKind.CANCELLED:
            return f"cancelled {counted(details['partitions'], 'move')} in progress"
        case EventKind.CONTINUED | EventKind.INTERRUPTED | EventKind.CANCELLING | EventKind.COMPLETED:
            return event.kind.value


def _move(entry: list[Any]) -> Move:
    (topic, partition), before, after, size, leader = entry
    return Move(TopicPartition(topic, partition), tuple(before), tuple(after), size, leader)
