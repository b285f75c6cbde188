"""Delivers notices to one sink, in rounds.

A round reads gold's newest incidents, compares them with the ledger, and sends the difference. A receiver is a stranger
with limits of its own, so a round keeps these rules:

| rule | reason |
|---|---|
| open alerts are repeated before new ones are sent, and whenever it is time during a round | they end at the receiver |
| more than `ALONE` notices are sent in batches, as far as the sink takes them | a slow receiver |
| a batch that is refused, or fails after it may have arrived, is halved, down to single notices | sizes, poison |
| the size that was accepted then is the next limit, which doubles after `CLEAN` times without a division | sizes |
| the ledger is written before and after a chunk of notices, and each second | costs follow the notices |

| outcome of sending a notice alone | next |
|---|---|
| accepted | the next notice |
| `SinkFailed`, final | dead letter; the next notice |
| `SinkFailed`, not final | the next notice; this one is repeated in the next round, after all others |
| the third such failure in a row before any success, or a pause that the sink asked for | the round ends |
| `STRIKES` rounds failed at this notice, but others were accepted | dead letter |

While a sink accepts nothing, its notices wait without becoming dead letters. Delivery is at least once: after a crash,
the notices since the last write of the ledger are sent again, with the same bytes and the same key.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.sinks.ledger import Ledger
from kwire_pipeline.sinks.ledger_owner import OwnershipRequest
from kwire_pipeline.sinks.notice import NoticeStatus
from kwire_pipeline.sinks.sink import RepeatingSink, SinkFailed
from kwire_pipeline.sinks.subscription import IncidentFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from kwire_pipeline.sinks.ledger_owner import LedgerOwner
    from kwire_pipeline.sinks.notice import IncidentNotice
    from kwire_pipeline.sinks.sink import IncidentSink

SETTLING = timedelta(seconds=5)
"""Minimum age of the first sign of a new incident: by then, an outage has explained the leaders that moved with it."""

FAILURES_IN_A_ROW = 3
"""Number of consecutive failures that end a round, so that an unavailable sink costs three timeouts and not one for
each notice. Chosen, not measured."""

REPETITION_PATIENCE = 5
"""Factor of the failures that end repetitions: alerts at which the sink fails must not be the end of the others."""

FAILING_S = 60.0
"""Seconds of a round that may be lost to failures while the sink accepts other notices. Chosen, not measured."""

STRIKES = 8
"""Number of rounds after which a notice that fails while others are accepted is a dead letter: about four minutes
of backoff. Chosen, not measured."""

LONGEST_PAUSE = 600.0
"""Maximum number of seconds of a pause that a sink asks for (Retry-After)."""

ALONE = 8
"""Maximum number of notices that are sent one by one, each with an answer of its own. Chosen, not measured."""

LARGEST_BATCH = 64
"""Maximum number of notices of a batch: some 100 kB, where proxies limit bodies to 1 MB. Chosen, not measured."""

CLEAN = 5
"""Number of times that batches are sent without a division before larger ones are tried. Chosen, not measured."""

CHUNK = 100
"""Minimum number of notices between two writes of the ledger, which has at most four times as many alerts per write."""

SAVE_S = 1.0
"""Seconds of a round after which the ledger is written: what a crash repeats at most."""

MOMENT_S = 1.0
"""Seconds of a pause after a sink has accepted notices and then refuses the moment, as rate limits do. Chosen."""

RESOLUTION_S = 1e-3
"""Seconds that do not count, so that no round begins just before it is time."""

LONGEST_RETRY_S = 10.0
"""Maximum number of seconds until an alert whose repetition failed once is tried again. Chosen, not measured."""

REPEATED_AT_ONCE_S = 1.0
"""Minimum number of seconds between two repetitions of an alert within a round."""

log = logging.getLogger(__name__)


class Round(NamedTuple):
    """The outcome of a round.

    Attributes:
        accepted: number of notices that the sink accepted.
        failed: number of notices that are to be repeated, and 1 if open alerts are.
        pause: seconds in which the sink wants no notices.
        repeat_s: seconds until open alerts must be repeated.
        is_available: True if the sink accepted anything.
    """

    accepted: int
    failed: int
    pause: float = 0.0
    repeat_s: float = math.inf
    is_available: bool = False


@dataclass
class _Tally:
    """The successes and failures of a round so far."""

    patience: int
    clock: Callable[[], float]
    accepted: int = 0
    failed: list[tuple[IncidentNotice, SinkFailed]] = field(default_factory=list)
    has_failed_repetition: bool = False
    is_available: bool = False
    pause: float = 0.0
    is_stopped: bool = False
    is_repeating: bool = False
    _in_a_row: int = 0
    _lost_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if nothing more must be sent in this round."""
        patience = REPETITION_PATIENCE * self.patience if self.is_repeating else self.patience
        is_down = self._in_a_row >= patience and (not self.is_available or self._lost_s > FAILING_S)
        return is_down or self.is_stopped or self.pause > 0

    def succeed(self) -> None:
        self.is_available, self._in_a_row = True, 0

    def fail(self, failure: SinkFailed, began: float) -> None:
        """Count an exchange that failed; the refusal of a notice proves that the sink is there."""
        self.pause = max(self.pause, min(failure.retry_after, LONGEST_PAUSE))
        if self.is_available and not failure.is_final and not failure.may_have_arrived:
            self.pause = max(self.pause, MOMENT_S)  # it takes some notices, and no more at this moment
        if not failure.is_final:
            self._in_a_row += 1
            self._lost_s += self.clock() - began


class SinkDelivery:
    """The delivery of notices to one sink.

    Args:
        out: the folder of the pipeline.
        sink: the sink.
        began_at: incidents that ended before are not sent to a new sink.
        filter: the incidents that are sent [default: all].
        clock: a monotonic clock in seconds.

    Attributes:
        pending: number of notices that the sink lacks after the last round.
    """

    def __init__(
        self,
        out: str,
        sink: IncidentSink,
        began_at: datetime,
        filter: IncidentFilter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sink = sink
        self.pending = 0
        self._filter = filter or IncidentFilter()
        self._out = out
        self._began_at = began_at
        self._clock = clock
        self._request = OwnershipRequest(out, sink.name)
        self._owner: LedgerOwner | None = None
        self._ledger: Ledger | None = None
        self._lock = threading.Lock()
        self._batch_limit = LARGEST_BATCH
        self._saved_at = -math.inf
        self._interval = math.inf
        """Seconds until what is sent now must be repeated."""
        self._clean = 0
        """Number of times that batches were sent without a division since the last one."""
        self._repeat_at: dict[str, float] = {}
        """Time of the next repetition of each open alert; an alert without an entry is repeated at once."""
        self._failing: dict[str, int] = {}
        """Number of consecutive repetitions of an alert at which the sink failed."""
        self._next_repetition = self._repeated_at = -math.inf

    @property
    def ledger(self) -> Ledger | None:
        """The ledger, or None if another process owns it."""
        return self._ledger

    def open(self) -> Ledger:
        """Own the ledger, and return it.

        Raises:
            LedgerInUse: another process owns it.
        """
        if self._owner is not None and not self._owner.is_valid:
            self.release()
        if self._ledger is None:
            owner = self._request.acquire()
            try:
                ledger = Ledger(self._out, self.sink.name, owner.generation)
                if ledger.is_new:
                    ledger.start(self._began_at)
            except BaseException:
                owner.release()
                raise
            self._owner, self._ledger = owner, ledger
        return self._ledger

    def release(self) -> None:
        """Let another process own the ledger."""
        owner, self._owner, self._ledger = self._owner, None, None
        if owner is not None:
            owner.release()

    def publish(
        self,
        read: Callable[[Ledger], Iterable[dict[str, Any]]],
        settled: datetime | Callable[[dict[str, Any]], bool] | None = None,
        patience: int = FAILURES_IN_A_ROW,
    ) -> Round:
        """Send what the sink lacks.

        Args:
            read: reads the incidents that a ledger needs (`Ledger.pending`).
            settled: the latest first sign of a new incident that is sent, or the condition on it [default: any].
            patience: number of consecutive failures that end the round.

        Raises:
            LedgerInUse: another process sends the notices of this sink.
        """
        with self._lock:
            ledger = self.open()
            tally = _Tally(patience, self._clock)
            self._repeated_at = self._clock()
            # Before gold is read: a store that cannot be read must not end alerts.
            self._repeat(ledger, tally)
            pending = ledger.pending(read(ledger), settled, self._filter.accepts)
            self.pending = len(pending)
            if isinstance(self.sink, RepeatingSink):
                self.sink.open_alerts = len(ledger.firing) + len(pending)
            size = max(CHUNK, len(ledger) // 4)
            for begin in range(0, len(pending), size):
                if not self._goes_on(tally):
                    break
                self._send_chunk(pending[begin : begin + size], len(pending) > ALONE, ledger, tally)
            if tally.is_available:  # it is the notices at which it failed
                for notice, failure in tally.failed:
                    if failure.may_have_arrived and ledger.strike(notice) >= STRIKES:
                        ledger.bury(notice, str(failure.reason))
            failed = len(tally.failed) + tally.has_failed_repetition
            ledger.end_round(accepted=tally.accepted, failed=failed)
            ledger.save()
            return Round(tally.accepted, failed, tally.pause, self._seconds_to_repetition(), tally.is_available)

    def _goes_on(self, tally: _Tally) -> bool:
        # The next owner of the ledger may have resolved alerts.
        return self._owner is not None and self._owner.is_valid and not tally.is_over

    # New notices

    def _send_chunk(self, chunk: list[IncidentNotice], in_batches: bool, ledger: Ledger, tally: _Tally) -> None:
        """Send some notices. All are recorded before the first one is sent."""
        for notice in chunk:
            ledger.begin(notice)
        self._save(ledger)

        def accept(batch: Sequence[IncidentNotice]) -> None:
            for notice in batch:
                ledger.confirm(notice)
                if notice.status is NoticeStatus.FIRING:
                    self._note_repetition(notice.id)
            tally.accepted += len(batch)
            self.pending -= len(batch)
            if self._clock() - self._saved_at >= SAVE_S:
                self._save(ledger)

        def refuse(notice: IncidentNotice, failure: SinkFailed) -> None:
            ledger.fail(notice, may_have_arrived=failure.may_have_arrived)
            if failure.is_final:
                ledger.bury(notice, str(failure.reason))
                self.pending -= 1
            else:
                tally.failed.append((notice, failure))

        def repeat() -> None:
            self._repeat(ledger, tally, is_within_round=True)

        self._send_all(chunk, in_batches, accept, refuse, tally, repeat)

    def _send(self, batch: Sequence[IncidentNotice]) -> None:
        """Send notices.

        Raises:
            SinkFailed: the sink did not accept them.
        """
        try:
            if isinstance(self.sink, RepeatingSink):
                self.sink.send_batch(batch)
            else:
                self.sink.send(batch[0])
        except SinkFailed:
            raise
        except Exception as error:
            raise SinkFailed(self.sink.name, repr(error)) from error

    def _save(self, ledger: Ledger) -> None:
        ledger.save()
        self._saved_at = self._clock()

    def _send_all(
        self,
        notices: Sequence[IncidentNotice],
        in_batches: bool,
        accept: Callable[[Sequence[IncidentNotice]], None],
        refuse: Callable[[IncidentNotice, SinkFailed], None],
        tally: _Tally,
        before_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Send notices in batches, and divide the batches that fail."""
        limit = self._batch_limit
        size = limit if in_batches and isinstance(self.sink, RepeatingSink) else 1
        batches = deque(notices[begin : begin + size] for begin in range(0, len(notices), size))
        largest, was_divided = 0, False
        while batches:
            before_each()
            if not self._goes_on(tally):
                return
            batch = batches.popleft()
            began = self._clock()
            if isinstance(self.sink, RepeatingSink):  # as of now, since the sink may learn from the answer
                self._interval = self.sink.repeat_s
            try:
                self._send(batch)
            except SinkFailed as failure:
                tally.fail(failure, began)
                if len(batch) > 1 and (failure.is_final or failure.may_have_arrived):
                    # At the end, so that a receiver that takes other batches is not mistaken for one that is down.
                    was_divided, half = True, len(batch) // 2
                    batches.extend((batch[:half], batch[half:]))
                    self._batch_limit = min(half, self._batch_limit)  # also if the round ends now
                    continue
                log.warning("%s", failure)
                for notice in batch:
                    refuse(notice, failure)
            else:
                tally.succeed()
                largest = max(largest, len(batch))
                accept(batch)
        if was_divided:
            # Without a success, the next round begins where this one ended: a limit of the rate may end each round
            # before a batch is small enough.
            self._batch_limit, self._clean = largest or self._batch_limit, 0
        elif (clean := self._clean + 1) >= CLEAN:
            self._batch_limit, self._clean = min(2 * limit, LARGEST_BATCH), 0
        else:
            self._clean = clean

    # Repetitions

    def _repeat(self, ledger: Ledger, tally: _Tally, *, is_within_round: bool = False) -> None:
        """Repeat the open alerts for which it is time, those first that were sent longest ago."""
        sink, now = self.sink, self._clock()
        if not isinstance(sink, RepeatingSink) or now < self._next_repetition or not self._goes_on(tally):
            return
        if is_within_round and now < self._repeated_at + REPEATED_AT_ONCE_S:
            return
        firing = {notice.id: notice for notice in ledger.firing}
        self._repeat_at = {id: at for id, at in self._repeat_at.items() if id in firing}
        due = [notice for id, notice in firing.items() if self._repeat_at.get(id, -math.inf) <= now + RESOLUTION_S]
        self._failing = {id: count for id, count in self._failing.items() if id in firing}
        # Those at which the sink failed come last: they must not end the round before the others had their turn.
        due.sort(key=lambda notice: (self._failing.get(notice.id, 0), self._repeat_at.get(notice.id, -math.inf)))
        sink.open_alerts = max(sink.open_alerts, len(firing))

        def note(batch: Sequence[IncidentNotice]) -> None:
            for notice in batch:
                self._failing.pop(notice.id, None)
                self._note_repetition(notice.id)

        def refuse(notice: IncidentNotice, failure: SinkFailed) -> None:
            self._note_repetition(notice.id)
            if not failure.is_final:  # otherwise it is there already, or never will be
                failures = self._failing[notice.id] = self._failing.get(notice.id, 0) + 1
                pause = min(max(self._interval / 8, 1.0), LONGEST_RETRY_S) * 2 ** min(failures - 1, 10)
                self._repeat_at[notice.id] = self._clock() + min(pause, self._interval)
                tally.has_failed_repetition = True

        tally.is_repeating = True
        self._send_all(due, True, note, refuse, tally)
        tally.is_repeating = False
        times = [self._repeat_at.get(id, -math.inf) for id in firing]
        self._next_repetition, self._repeated_at = min(times, default=math.inf), self._clock()

    def _note_repetition(self, id: str) -> None:
        if isinstance(self.sink, RepeatingSink):
            now = self._clock()
            self._repeat_at[id] = now + self._interval
            self._next_repetition = min(self._next_repetition, now + self._interval)

    def _seconds_to_repetition(self) -> float:
        """Return the seconds until the next round must repeat alerts."""
        if not isinstance(self.sink, RepeatingSink) or not self._repeat_at:
            return math.inf
        return max(min(self._repeat_at.values()) - self._clock(), 0.0)
