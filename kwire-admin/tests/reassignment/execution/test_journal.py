"""A journal is the state of a run, after any of its events."""

from __future__ import annotations

import pytest

from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment import InvalidJournal, Move
from kwire_admin.reassignment.execution.journal import (
    EventKind,
    JournalEvent,
    Phase,
    RunState,
    audit_text,
    started_details,
)

FIRST = Move(TopicPartition("orders", 0), (1, 2), (3, 2), 7, 1)
SECOND = Move(TopicPartition("orders", 1), (2, 1), (2, 3), None, None)


def event(kind: EventKind, **details: object) -> JournalEvent:
    return JournalEvent("2026-01-01T00:00:00+00:00", "alice", kind, details)


STARTED = JournalEvent(
    "2026-01-01T00:00:00+00:00",
    "alice",
    EventKind.STARTED,
    started_details("cluster-7", [[FIRST], [SECOND]], 1000, elections=True),
)
THROTTLING = event(EventKind.THROTTLING, resource="broker 1", previous={"leader.replication.throttled.rate": None})


def test_lines_are_read_again() -> None:
    events = [STARTED, THROTTLING, event(EventKind.PAUSED, reason="why")]
    assert [event.to_line() for event in map(JournalEvent.from_line, [event.to_line() for event in events])] == [
        event.to_line() for event in events
    ]
    state = RunState.of(JournalEvent.from_line(event.to_line()) for event in events)
    assert state.batches == ((FIRST,), (SECOND,))
    assert (state.cluster_id, state.rate, state.phase, state.reason) == ("cluster-7", 1000, Phase.PAUSED, "why")


def test_first_value_before_a_throttle_is_kept() -> None:
    again = event(EventKind.THROTTLING, resource="broker 1", previous={"leader.replication.throttled.rate": "1000"})
    state = RunState.of([STARTED, THROTTLING, again])
    assert state.throttles == {"broker 1": {"leader.replication.throttled.rate": None}}
    state.apply(event(EventKind.UNTHROTTLED, resource="broker 1"))
    assert state.throttles == {}


def test_state_follows_batches_and_failures() -> None:
    state = RunState.of([STARTED])
    assert (state.batch, state.completed_batches, state.started_moves) == (-1, 0, [])
    state.apply(event(EventKind.BATCH_STARTED, batch=0))
    assert state.started_moves == [FIRST]
    state.apply(event(EventKind.MOVE_FAILED, partition=["orders", 0], reason="deleted"))
    state.apply(event(EventKind.BATCH_COMPLETED, batch=0))
    assert (state.completed_batches, state.failed) == (1, {FIRST.key: "deleted"})
    state.apply(event(EventKind.INTERRUPTED))
    assert state.phase.value == "interrupted"
    state.apply(event(EventKind.TAKEN_OVER))
    assert state.phase.value == "moving"
    state.apply(event(EventKind.COMPLETED))
    assert state.phase.is_final


@pytest.mark.parametrize("line", ["", "7", "{}", '{"time": "", "user": "", "event": "nosuch"}'])
def test_line_that_is_not_an_event_is_explained(line: str) -> None:
    with pytest.raises(InvalidJournal, match="a line of the journal cannot be read"):
        JournalEvent.from_line(line)


def test_journal_must_start_with_a_start() -> None:
    with pytest.raises(InvalidJournal, match="starts with one event"):
        RunState.of([THROTTLING])
    with pytest.raises(InvalidJournal, match="wrong details"):
        RunState.of([STARTED, event(EventKind.BATCH_STARTED)])


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_event_has_a_sentence(kind: EventKind) -> None:
    details = {
        EventKind.STARTED: STARTED.details,
        EventKind.THROTTLING: THROTTLING.details,
        EventKind.UNTHROTTLED: {"resource": "broker 1"},
        EventKind.BATCH_STARTED: {"batch": 0},
        EventKind.BATCH_COMPLETED: {"batch": 0},
        EventKind.MOVE_FAILED: {"partition": ["orders", 0], "reason": "deleted"},
        EventKind.PAUSED: {"reason": "why"},
        EventKind.RATE_CHANGED: {"rate": 1000},
        EventKind.CANCELLED: {"partitions": 3},
    }
    assert audit_text(event(kind, **details.get(kind, {})))
