"""Execute a plan batch by batch, with throttles, and pause while the cluster is not well.

Every step is in the journal before it is taken. A process that is killed at any moment leaves a run that another
process can continue (`run`), or end (`cancel`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.client.admin.errors import AdminError, BrokerNotFound, OutcomeUnknown
from kwire.client.admin.group_values import LATEST, TopicPartition
from kwire.client.admin.values import ReassignmentState
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire_admin.reassignment.errors import ReassignError
from kwire_admin.reassignment.execution.health import LatencyWatch, listed, unexplained_partitions
from kwire_admin.reassignment.execution.journal import EventKind, Phase
from kwire_admin.reassignment.execution.moves_in_progress import MovesInProgress, read_progress
from kwire_admin.reassignment.execution.throttles import Throttles
from kwire_admin.reassignment.plan import partitions_by_topic
from kwire_admin.reassignment.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Sequence

    from kwire.client.admin.admin_client import AdminClient
    from kwire_admin.reassignment.execution.run_folder import RunFolder
    from kwire_admin.reassignment.plan import Move
    from kwire_admin.reassignment.snapshot import ClusterSnapshot

log = logging.getLogger(__name__)

LEAST_RATE = 10_240
"""Minimum throttle during a pause in bytes a second, so that moves still end; chosen, not measured."""

MOST_REFUSALS = 3
"""Number of times that the cluster refuses to cancel a move until that is final; chosen, not measured."""
OVER = frozenset({ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
"""Error codes of moves that have just ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOptions:
    """Intervals and limits of an execution.

    Attributes:
        poll_seconds: interval in seconds of polls of the moves in progress.
        health_seconds: interval in seconds of checks of the cluster's health.
        latency_factor: pause if a broker's latency is more than this multiple of its latency before the first move.
        least_latency: threshold in seconds; a lower latency is never a reason to pause.
        paused_share: fraction of the throttle that moves in progress keep during a pause.
    """

    poll_seconds: float = 0.5
    health_seconds: float = 5.0
    latency_factor: float = 10.0
    least_latency: float = 0.5
    paused_share: float = 0.1


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Progress of a batch, for people who watch.

    Attributes:
        batch: the number of the batch, from 1.
        batches: the number of batches.
        moving: partitions in progress.
        done: bytes copied to new replicas of these partitions.
        total: bytes to copy.
    """

    batch: int
    batches: int
    moving: int
    done: int
    total: int


class Executor:
    """Executes a run.

    Args:
        admin: a client of the cluster.
        run: the run, which this process owns.
        options: intervals and limits.
        on_progress: called while a batch is in progress.
    """

    def __init__(
        self,
        admin: AdminClient,
        run: RunFolder,
        options: ExecutionOptions | None = None,
        on_progress: Callable[[BatchProgress], None] | None = None,
    ) -> None:
        self._admin = admin
        self._run = run
        self._options = options or ExecutionOptions()
        self._on_progress = on_progress
        self._throttles = Throttles(admin, run)
        self._watch = LatencyWatch(self._options.latency_factor, self._options.least_latency)
        self._known: Collection[TopicPartition] = ()
        self._latest: ClusterSnapshot | None = None
        self._measured: asyncio.Task[None] | None = None
        self._next_check = 0.0
        self._rate: int | None = None

    async def run(self) -> None:
        """Execute all batches that are not complete, then remove the throttles.

        Raises:
            ReassignError: a broker that is throttled is down.
            asyncio.CancelledError: the run was interrupted. Moves in progress continue on the brokers.
        """
        state, kafka = self._run.state, self._admin.dialect == "kafka"
        try:
            if not state.phase.is_final:
                snapshot = await self._measure_before()
                rate = state.rate if kafka else None
                async with self._measuring(snapshot):
                    for number in range(state.completed_batches, len(state.batches)):
                        await self._execute(number, rate)
            # Also after the last batch of an earlier process: its throttles may still be there.
            if kafka:
                await self._throttles.restore()
            if not state.phase.is_final:
                self._run.record(EventKind.COMPLETED)
        except asyncio.CancelledError:
            self._run.record(EventKind.INTERRUPTED)
            raise

    async def cancel(self) -> None:
        """Cancel the moves in progress, and remove the throttles.

        Partitions that have moved stay where they are.

        Raises:
            ReassignError: the cluster refuses to cancel moves, and the throttles are removed nevertheless; or a
                throttled broker is down.
        """
        state = self._run.state
        cancelled = 0
        refused: dict[TopicPartition, AdminError] = {}
        if not state.phase.is_final:
            self._run.record(EventKind.CANCELLING)
            cancelled, refused = await self._cancel_moves(state.started_moves)
        if self._admin.dialect == "kafka":
            await self._throttles.restore()
        if refused:
            reason = next(iter(refused.values())).reason
            raise ReassignError(
                f"{listed([*refused])}: the cluster does not cancel the move, which goes on: {reason}. If replicas "
                "have no leader, start their brokers, and run `cancel` again"
            )
        if not state.phase.is_final:
            self._run.record(EventKind.CANCELLED, partitions=cancelled)

    async def _cancel_moves(self, moves: Sequence[Move]) -> tuple[int, dict[TopicPartition, AdminError]]:
        """Cancel moves until none of them is in progress, and return their number, and the refusals of others.

        Kafka refuses to cancel a move whose old replicas are all offline: it would lose records.
        """
        keys = {move.key for move in moves}
        cancelled: set[TopicPartition] = set()
        refusals: Counter[TopicPartition] = Counter()
        while True:
            ongoing = [key for key in await self._ongoing() if key in keys]
            if not ongoing:
                return len(cancelled), {}
            cancelled.update(ongoing)
            errors = (await self._admin.cancel_reassignments(partitions_by_topic(ongoing))).errors
            refused = {key: error for key in ongoing if (error := errors.get(str(key)) or errors.get(key.topic))}
            refused = {key: error for key, error in refused.items() if error.kafka_code not in OVER}
            refusals.update(refused.keys())
            if len(refused) == len(ongoing) and all(refusals[key] >= MOST_REFUSALS for key in refused):
                return len(cancelled - refused.keys()), refused
            await asyncio.sleep(self._options.poll_seconds)

    async def _ongoing(self) -> list[TopicPartition]:
        return [
            TopicPartition(reassignment.topic, index)
            for reassignment in await self._admin.list_reassignments()
            for index, state in reassignment.partitions.items()
            if state == ReassignmentState.MOVING
        ]

    async def _execute(self, number: int, rate: int | None) -> None:
        """Execute one batch."""
        run, batch = self._run, self._run.state.batches[number]
        # A resumed run may find the moves of this batch in progress: `start` requests only the missing ones.
        moves = MovesInProgress(self._admin, run, batch)
        await self._wait_until_healthy(moves)
        if rate is not None:
            await self._set_rate(batch, rate)
            await self._throttles.set_topics(batch)
        if run.state.batch < number:
            run.record(EventKind.BATCH_STARTED, batch=number)
        await moves.start()
        while moves.open:
            await self._report(number, moves)
            await asyncio.sleep(self._options.poll_seconds)
            await moves.update()
            await self._check_health(moves, batch, rate)
        if run.state.elections:
            await moves.elect(batch)
        # Topics of the next batch stay throttled; brokers' rates are removed at the end of the run.
        if rate is not None:
            following = run.state.batches[number + 1] if number + 1 < len(run.state.batches) else ()
            await self._throttles.restore({move.key.topic for move in following if move.added}, topics_only=True)
        run.record(EventKind.BATCH_COMPLETED, batch=number)

    async def _report(self, number: int, moves: MovesInProgress) -> None:
        if self._on_progress is None:
            return
        adding = {move.key: move.added for move in moves.open if move.added}
        progress = await read_progress(self._admin, adding) if adding and self._admin.dialect == "kafka" else {}
        self._on_progress(
            BatchProgress(
                number + 1,
                len(self._run.state.batches),
                len(moves.open),
                sum(move.done for move in progress.values()),
                sum(move.total for move in progress.values()),
            )
        )

    # Health

    async def _measure_before(self) -> ClusterSnapshot:
        """Measure latency, and which partitions are under-replicated already, before the first move of this process."""
        snapshot = await read_snapshot(self._admin, sizes=False)
        self._known = frozenset(unexplained_partitions(snapshot, self._run.state.started_moves))
        if self._admin.dialect == "kafka":
            for _ in range(LatencyWatch.SAMPLES):
                self._watch.add(await measure_latencies(self._admin, snapshot), moving=False)
        return snapshot

    @asynccontextmanager
    async def _measuring(self, snapshot: ClusterSnapshot) -> AsyncIterator[None]:
        """Measure latency in a task of its own: a broker that answered one request late may answer the next at once."""
        self._latest = snapshot
        if self._admin.dialect != "kafka":
            yield
            return
        measuring = self._measured = asyncio.create_task(self._measure())
        try:
            yield
        finally:
            measuring.cancel()
            await asyncio.wait([measuring])

    async def _measure(self) -> None:
        while True:
            await asyncio.sleep(self._options.health_seconds)
            assert self._latest is not None, "set before this task starts"
            self._watch.add(await measure_latencies(self._admin, self._latest), moving=True)

    async def _problem(self, moves: Collection[Move]) -> str:
        """Return the problem of the cluster that the moves do not explain; empty if there is none."""
        if self._measured is not None and self._measured.done():
            await self._measured  # raises its error
        snapshot = self._latest = await read_snapshot(self._admin, sizes=False)
        behind = unexplained_partitions(snapshot, moves, self._known)
        if behind:
            return f"partitions are under-replicated that are not moving: {listed(behind)}"
        for broker, (now, before) in self._watch.slow_brokers().items():
            return f"broker {broker} answers in {now * 1000:.0f} ms, before in {before * 1000:.0f} ms"
        return ""

    async def _check_health(self, moves: MovesInProgress, batch: Sequence[Move], rate: int | None) -> None:
        """Record a pause, or its end, while moves are in progress. They become slower; the next batch waits."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next_check:
            self._set_pause(await self._problem(moves.open))
            if rate is not None:
                await self._adapt_rate(batch, rate)
            self._next_check = loop.time() + self._options.health_seconds

    async def _adapt_rate(self, batch: Sequence[Move], rate: int) -> None:
        """Lower the throttle of the moves in progress during a pause, and raise it again afterwards.

        They are not cancelled, because what they have copied would be lost.
        """
        paused = self._run.state.phase is Phase.PAUSED
        target = min(rate, max(LEAST_RATE, int(rate * self._options.paused_share))) if paused else rate
        if target == self._rate:
            return
        try:
            await self._set_rate(batch, target)
        except (BrokerNotFound, ConnectionFault, OutcomeUnknown) as error:  # a broker has just gone down
            log.info("the throttle is changed at the next check of health: %s", error)

    async def _set_rate(self, batch: Sequence[Move], rate: int) -> None:
        """Set the throttle of the brokers of a batch, and report a change."""
        await self._throttles.set_brokers(batch, rate)
        if self._rate not in (None, rate):
            self._run.record(EventKind.RATE_CHANGED, rate=rate)
        self._rate = rate

    async def _wait_until_healthy(self, moves: MovesInProgress) -> None:
        while problem := await self._problem(moves.open):
            self._set_pause(problem)
            await asyncio.sleep(self._options.poll_seconds)
        self._set_pause("")

    def _set_pause(self, problem: str) -> None:
        paused = self._run.state.phase is Phase.PAUSED
        if problem and not paused:
            self._run.record(EventKind.PAUSED, reason=problem)
        elif paused and not problem:
            self._run.record(EventKind.CONTINUED)


async def measure_latencies(admin: AdminClient, snapshot: ClusterSnapshot) -> dict[int, float]:
    """Return the response time of ListOffsets in seconds by broker, as producers and consumers see it.

    Each broker that leads a partition is asked once. Brokers that do not respond are left out.
    """
    probes: dict[int, TopicPartition] = {}
    for partition in snapshot.partitions:
        if partition.leader is not None:
            probes.setdefault(partition.leader, TopicPartition(partition.topic, partition.partition))
    loop = asyncio.get_running_loop()
    latencies = {}
    for broker, probe in probes.items():
        start = loop.time()
        try:
            offsets = await admin.list_offsets({probe: LATEST})
        except ConnectionFault:
            continue
        if not isinstance(offsets[probe], AdminError):
            latencies[broker] = loop.time() - start
    return latencies
