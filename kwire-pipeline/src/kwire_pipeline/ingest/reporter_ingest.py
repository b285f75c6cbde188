"""The ingest of the polls of one broker by one poller: its state, and the states from which it can be reopened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.clock_faults import FEW, MOMENT
from kwire_pipeline.ingest.resume_points import BEGINNING, kept_points, points_of
from kwire_pipeline.silver.poll_order import OrderedPoll, PollOrder
from kwire_pipeline.silver.state_builder import StateBuilder
from kwire_pipeline.store.manifest import ReporterPolls, ReporterProgress, ResumePoint, date_of

if TYPE_CHECKING:
    from kwire.capture.rows import Row
    from kwire_pipeline.ingest.row_files import IngestFiles

BATCH_ROWS = 64
"""Rows of bronze after which the rows of silver are handed to the files. Chosen, not measured."""

FAULTS_KEPT = 1_000
"""Maximum number of times of polls kept aside that the progress of a broker has, newest last. Chosen."""


class ReporterIngest:
    """The ingest of one broker by one poller.

    Args:
        key: the `reporter_key`.
        progress: the start of the ingest, an entry of `StoreProgress.reporters` or a result of `state_at`.
        output: the files.

    Attributes:
        ingested_until: the time of the last poll of earlier ingests, in microseconds since 1970.
    """

    def __init__(self, key: str, progress: dict[str, Any], output: IngestFiles) -> None:
        self.key = key
        self._output = output
        self._builder = StateBuilder()
        self._state: str = progress.get("state", "")
        self._state_is_current = True
        self._initial_requests: set[Any] = set()
        if self._state:
            rows = output.read_state(self._state)
            self._builder.seed(rows)
            self._initial_requests = {row.request_key for row in rows}
        self._starts = points_of(progress)
        self._has_started = bool(self._starts) and self._starts[-1].after == progress.get("last")
        """True once there is a point before the first poll; a reopened broker begins at one."""
        self._tail: list[OrderedPoll] = []
        """A few polls after a gap, which are applied when others follow, or the ingest ends."""
        self._last: int = progress.get("last", BEGINNING)
        self.ingested_until = self._last
        self._last_before: int = progress.get("last_before", BEGINNING)
        self._cluster = ("", "")
        self._polls = ReporterPolls(False, 0)
        self._order = PollOrder()
        self.applied = 0
        self.aside: list[int] = list(progress.get("aside", ()))
        """The times of the polls that are kept aside (`clock_faults`), in microseconds since 1970."""
        self.outside: list[str] = []
        """The polls that this ingest has set aside, for people."""

    def has_response(self, carried: Row) -> bool:
        """Return whether the carried response is known already."""
        return (
            self.applied > 0
            or self._order.has_rows
            or bool(self._tail)
            or carried.request_key in self._initial_requests
        )

    def apply(self, row: Row, *, to_bronze: bool = False) -> None:
        """Apply a row to the state, in the order of requests (`poll_order`).

        Args:
            row: the row; rows come in the order of their times.
            to_bronze: True if bronze gets it, as it was recorded.
        """
        if row.kind == "carried":
            self._apply(row)
            return
        if not self._has_started:
            self._add_start(microseconds(row.polled_at))
        for ordered in self._order.add(row, to_bronze=to_bronze):
            self._wait_for_others(ordered)

    def set_aside(self, row: Row, *, to_bronze: bool = False, again: bool = False) -> None:
        """Keep a row aside whose time is the fault of a clock.

        Args:
            row: the row.
            to_bronze: True if bronze gets it.
            again: True if it was set aside before, and its row of silver is replaced.
        """
        at = microseconds(row.polled_at)
        if at in self.aside and not again:
            return  # the same poll is ingested again
        is_ahead = at > max(self._last, self._last_before, 0)
        self._builder.set_aside(row, is_ahead=is_ahead)
        if to_bronze:
            self._output.add_to_bronze(row)
        if at not in self.aside:
            self.aside.append(at)
            self.outside.append(
                f"a poll of broker {row.broker_id} of cluster {row.cluster_id or ''!r} at "
                f"{row.polled_at.isoformat(' ', 'seconds')}: the clock of its poller was "
                f"{'ahead' if is_ahead else 'behind'}"
            )

    def finish(self) -> None:
        """Apply the rows that wait for others."""
        for ordered in self._order.finish():
            self._wait_for_others(ordered)
        if self._tail:
            self._builder.end()
            self._add_start(microseconds(self._tail[0].row.polled_at))
            self._apply_tail()

    def _wait_for_others(self, ordered: OrderedPoll) -> None:
        """Apply a poll, but one after a gap only when it is known whether it is one of a few at the end."""
        begin = self._tail[0].row.polled_at if self._tail else None
        if begin is not None and (
            len(self._tail) == FEW or microseconds(ordered.row.polled_at) - microseconds(begin) > MOMENT
        ):
            self._apply_tail()
        if self._tail or (not self._order.is_corrected and self._builder.has_gap_before(ordered.row)):
            self._tail.append(ordered)
        else:
            self._apply_ordered(ordered)

    def _apply_tail(self) -> None:
        tail, self._tail = self._tail, []
        for ordered in tail:
            self._apply_ordered(ordered)

    def _add_start(self, until: int) -> None:
        """Keep the current state to start again from it at a time before the next poll."""
        self._has_started = True
        if until > self._last:
            self._starts.append(ResumePoint(self._last, until, self._current_state()))

    def _apply_ordered(self, ordered: OrderedPoll) -> None:
        applied = self._apply(ordered.row)
        if ordered.to_bronze:
            recorded = ordered.recorded
            self._output.add_to_bronze(
                applied._replace(polled_at=recorded.polled_at, clock_step_us=recorded.clock_step_us)
            )

    def _apply(self, row: Row) -> Row:
        """Apply a row to the state, and return it with its cluster and kind."""
        at = microseconds(row.polled_at)
        if row.kind != "carried":
            # Bronze finds polls by their recorded times, not by times that are corrected after a step of the clock.
            is_new_day = self._last >= 0 and date_of(self._last) < date_of(at)
            is_point = bool(self._starts) and self._starts[-1].after == self._last
            if is_new_day and not is_point and not self._order.is_corrected:
                self._add_start(at)
            self._last = max(self._last, at)
        applied = self._builder.apply(row)
        self._state_is_current = False
        if row.kind != "carried":
            has_failed = row.kind == "error"
            self._polls = self._polls.followed_by(ReporterPolls(False, 1, at) if has_failed else ReporterPolls(True, 0))
        self.applied += 1
        if applied.cluster_id:
            self._cluster = f"{row.broker_id}/{row.endpoint}", applied.cluster_id
        if self.applied % BATCH_ROWS == 0:
            self._output.write_silver(self._builder)
        return applied

    def end(self) -> ReporterProgress:
        """Write the remaining rows and the state."""
        self._builder.end()
        self._output.write_silver(self._builder)
        address, cluster = self._cluster
        state = self._current_state()
        return ReporterProgress(
            key=self.key,
            state=state,
            last=self._last,
            starts=kept_points(self._starts),
            address=address,
            cluster=cluster,
            polls=self._polls,
            aside=self.aside[-FAULTS_KEPT:],
            outside=self.outside,
        )

    def _current_state(self) -> str:
        if not self._state_is_current:
            self._state = self._output.write_state(self._builder)
            self._state_is_current = True
        return self._state
