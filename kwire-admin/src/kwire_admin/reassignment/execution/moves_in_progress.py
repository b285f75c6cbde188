"""Start a batch of moves, follow it to its end, and measure its progress in bytes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.values import ReassignmentState
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode
from kwire_admin.reassignment.execution.journal import EventKind
from kwire_admin.reassignment.plan import by_topic, partitions_by_topic

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.admin_client import AdminClient
    from kwire.client.admin.errors import AdminError
    from kwire_admin.reassignment.execution.run_folder import RunFolder
    from kwire_admin.reassignment.plan import Move


PATIENCE = 10.0
"""Timeout in seconds until metadata shows the replicas of a completed reassignment; chosen, not measured."""
BUSY_PAUSE = 1.0
"""Retry interval in seconds while a cluster of the drafts executes another reassignment."""


class MovesInProgress:
    """The moves of a batch.

    Args:
        admin: a client of the cluster.
        run: the run, which records moves that fail.
        moves: the moves.
    """

    def __init__(self, admin: AdminClient, run: RunFolder, moves: Sequence[Move]) -> None:
        self._admin = admin
        self._run = run
        self._open = {move.key: move for move in moves if move.key not in run.state.failed}
        self._lost_since: dict[TopicPartition, float] = {}

    @property
    def open(self) -> Collection[Move]:
        """The moves that are neither complete nor failed."""
        return self._open.values()

    async def start(self) -> None:
        """Request the moves that are not in progress and not complete."""
        while self._open:
            states = await self._states()
            for key in [key for key, state in states.items() if state == ReassignmentState.COMPLETED]:
                del self._open[key]
            # FAILED is any move that neither runs nor has arrived, so also a move that was never requested.
            missing = [move for key, move in self._open.items() if states.get(key) == ReassignmentState.FAILED]
            if not missing:
                return
            outcomes = await self._admin.reassign_partitions(by_topic({move.key: move.after for move in missing}))
            errors = outcomes.errors
            if any(error.code == Kip4ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS for error in errors.values()):
                await asyncio.sleep(BUSY_PAUSE)  # clusters of the drafts execute one reassignment at a time
                continue
            for move in missing:
                error = errors.get(str(move.key)) or errors.get(move.key.topic)
                if error is not None:
                    self._fail(move.key, _reason(error))
            return

    async def update(self) -> None:
        """Drop complete moves, and record failed moves."""
        loop = asyncio.get_running_loop()
        for key, state in (await self._states()).items():
            if state == ReassignmentState.COMPLETED:
                del self._open[key]
            elif state == ReassignmentState.MOVING:
                self._lost_since.pop(key, None)
            elif loop.time() - self._lost_since.setdefault(key, loop.time()) > PATIENCE:
                self._fail(key, "it was cancelled, or its replicas were changed")

    async def elect(self, moves: Iterable[Move]) -> None:
        """Elect the preferred leaders of partitions that were moved."""
        keys = [move.key for move in moves if move.key not in self._run.state.failed]
        if keys:
            await self._admin.elect_leaders(partitions_by_topic(keys))

    async def _states(self) -> dict[TopicPartition, str]:
        """Return the states of the open moves; topics that do not exist any more fail."""
        targets = by_topic({key: move.after for key, move in self._open.items()})
        statuses = (
            {reassignment.topic: reassignment for reassignment in await self._admin.list_reassignments(targets)}
            if targets
            else {}
        )
        states: dict[TopicPartition, str] = {}
        for key in list(self._open):
            topic = statuses.get(key.topic)
            if topic is None or topic.error is not None:
                error = None if topic is None else topic.error
                if error is None or error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    self._fail(key, "the topic does not exist any more")
                    continue
                raise error
            states[key] = topic.partitions.get(key.partition, ReassignmentState.FAILED)
        return states

    def _fail(self, key: TopicPartition, reason: str) -> None:
        self._run.record(EventKind.MOVE_FAILED, partition=list(key), reason=reason)
        del self._open[key]


def _reason(error: AdminError) -> str:
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "the topic or partition does not exist any more"
    return f"{error.text.rstrip('.')} (error {error.code} {error.name})"


class MoveProgress(NamedTuple):
    """The progress of a partition.

    Attributes:
        done: bytes copied to the added replicas.
        total: bytes of the complete replicas.
    """

    done: int
    total: int


async def read_progress(
    admin: AdminClient, adding: Mapping[TopicPartition, tuple[int, ...]]
) -> dict[TopicPartition, MoveProgress]:
    """Return the progress by partition.

    Partitions are left out if their progress is not known: a broker that receives one does not answer, or no broker
    with a complete replica does.

    Args:
        adding: the brokers that receive replicas, by partition.
    """
    log_dirs = await admin.describe_log_dirs(unanswered={})
    answered = {log_dir.broker for log_dir in log_dirs}
    totals: dict[TopicPartition, int] = defaultdict(int)
    received: dict[TopicPartition, list[int]] = defaultdict(list)
    for log_dir in log_dirs:
        for replica in log_dir.replicas:
            key = TopicPartition(replica.topic, replica.partition)
            if log_dir.broker in adding.get(key, ()):
                received[key].append(replica.size)
            elif key in adding:
                totals[key] = max(totals[key], replica.size)
    return {
        key: MoveProgress(sum(min(size, totals[key]) for size in received[key]), totals[key] * len(brokers))
        for key, brokers in adding.items()
        if key in totals and answered >= {*brokers}
    }
