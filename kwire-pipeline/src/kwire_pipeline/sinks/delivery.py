"""Delivers notices to one sink, in rounds.

A round reads gold's newest incidents, compares them with the ledger, and sends the difference. A receiver is a stranger
with limits of its own, so a round keeps these rules:

| rule | reason |
|---|---|
| open alerts are repeated before new ones are sent, and whenever it is time during a round | they end at the receiver |
| notices are sent in batches, as far as the sink takes them | a slow receiver |
| a batch that is refused, or fails after it may have arrived, is sent again last, in halves | sizes, poison |
| the largest size that was accepted is the next limit, which doubles after `CLEAN` accepted batches | sizes |
| notices that have failed come last, in turn, since whenever they fail | one failing alert blocks no other |
| while it accepts nothing, other notices are tried less and less often | no flood once it is back |
| the ledger is written before and after a chunk of notices, and each second | costs follow the notices |

| outcome of sending a notice alone | next |
|---|---|
| accepted | the next notice |
| `SinkFailed`, final | dead letter; the next notice |
| `SinkFailed`, not final | the next notice; this one is repeated in the next round, after all others |
| the third such failure in a row, or a pause that the sink asked for | the round ends |
| `STRIKES` rounds failed at this notice, but others were accepted | dead letter |

While a sink accepts nothing, its notices wait without becoming dead letters. Delivery is at least once: after a crash,
the notices since the last write of the ledger are sent again, with the same bytes and the same key.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.ledger import Ledger
from kwire_pipeline.sinks.ledger_owner import LedgerOwnership
from kwire_pipeline.sinks.notice import NoticeStatus
from kwire_pipeline.sinks.sink import RepeatingSink, SinkFailed
from kwire_pipeline.sinks.subscription import IncidentFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from kwire_pipeline.sinks.notice import IncidentNotice
    from kwire_pipeline.sinks.sink import IncidentSink

SETTLING = timedelta(seconds=5)
"""Minimum age of the first sign of a new incident: by then, an outage has explained the leaders that moved with it."""

FAILURES_IN_A_ROW = 3
"""Number of consecutive failures that end a round, so that an unavailable sink costs three timeouts and not one for
each notice. Chosen, not measured."""

LONGEST_PAUSE = 600.0
"""Maximum number of seconds of a pause that a sink asks for (Retry-After). A sink that forgets open alerts is tried
again at the time of their repetition."""

LARGEST_BATCH = 64
"""Maximum number of notices of a batch: some 100 kB, where proxies limit bodies to 1 MB. Chosen, not measured."""

CLEAN = 10
"""Number of batches that are accepted in a row before larger ones are tried. Chosen, not measured."""

PROBED_AT_ONCE = 8
"""Number of unconfirmed notices for which another notice is tried one attempt later. Chosen: a day of failures adds
some 190 notices to send again, and an alert behind fifty that always fail waits for minutes."""

CHUNK = 100
"""Minimum number of notices between two writes of the ledger; a quarter of the alerts if there are more."""

SAVE_S = 1.0
"""Seconds of a round after which the ledger is written, or ten times as long as a write takes: what a crash repeats."""

SHORTEST_REPETITION_S = 1.0
"""Minimum number of seconds between two repetitions of an alert. Chosen: less than a third of any `resolve_timeout`."""

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
"""Multiples of it modulo 1 are spread most evenly."""

RESOLUTION_S = 1e-3
"""Seconds that do not count, so that no round begins just before it is time."""

log = logging.getLogger(__name__)


@dataclass
class Round:
    """The outcome of a round.

    Attributes:
        accepted: number of notices that the sink accepted.
        failed: number of notices and of repetitions that failed and are tried again.
        pause: seconds in which the sink wants no notices.
        repeat_s: seconds until open alerts must be repeated.
        is_available: True if the sink accepted anything.
        failures_in_a_row: number of failures since the last success.
        unconfirmed: notices that failed and may have arrived, with their errors.
    """

    accepted: int = 0
    failed: int = 0
    pause: float = 0.0
    repeat_s: float = math.inf
    is_available: bool = False
    failures_in_a_row: int = field(default=0, compare=False)
    unconfirmed: list[tuple[IncidentNotice, SinkFailed]] = field(default_factory=list, compare=False)


class SinkDelivery:
    """The delivery of notices to one sink.

    Args:
        out: the folder of the pipeline.
        sink: the sink.
        began_at: incidents that ended before are not sent to a new sink.
        filter: the incidents that are sent [default: all].
        clock: a monotonic clock in seconds.

    Attributes:
        ledger: the ledger; None if this process does not own it.
        pending: number of notices that the sink lacks after the last round.
        failed: number of these notices that the sink has not accepted at the last attempt.
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
        self.ledger: Ledger | None = None
        self.pending = self.failed = 0
        self._filter = filter or IncidentFilter()
        self._out = out
        self._began_at = began_at
        self._clock = clock
        self._ownership = LedgerOwnership(out, sink.name)
        self._lock = threading.Lock()
        self._next_save = -math.inf
        self._failures: Counter[str] = Counter()
        """Number of consecutive failures of the sink at a notice or its repetition, by key.

        It decides whose turn it is, so a notice that fails for the first time begins with `_turn`: otherwise, the
        notices that have failed during a long outage would wait until new ones have failed as often.
        """
        self._turn = 0
        """The least number of failures of a notice that has failed."""
        self._batch_limit = LARGEST_BATCH if isinstance(sink, RepeatingSink) else 1
        self._clean = 0
        """Number of accepted batches since the limit has changed."""
        self._repeat_at: dict[str, float] = {}
        """Time of the next repetition of each open alert; an alert without an entry is repeated at once."""
        self._next_repetition = -math.inf
        """The earliest of these times."""

    @property
    def _repeat_s(self) -> float:
        """The seconds between repetitions of an open alert."""
        return self.sink.repeat_s if isinstance(self.sink, RepeatingSink) else math.inf

    def open(self) -> Ledger:
        """Own the ledger, and return it.

        Raises:
            LedgerInUse: another process owns it.
        """
        if not self._ownership.is_valid:
            self.release()
        if self.ledger is None:
            self._ownership.acquire()
            try:
                ledger = Ledger(self._out, self.sink.name, self._ownership.number)
                if ledger.is_new:
                    ledger.start(self._began_at)
            except BaseException:
                self._ownership.release()
                raise
            self.ledger = ledger
        return self.ledger

    def release(self) -> None:
        """Let another process own the ledger."""
        self.ledger = None
        self._ownership.release()

    def publish(
        self,
        read: Callable[[Ledger], Iterable[dict[str, Any]]],
        is_settled: Callable[[Mapping[str, Any]], bool] | None = None,
        patience: int = FAILURES_IN_A_ROW,
    ) -> Round:
        """Send what the sink lacks.

        Args:
            read: reads the incidents that a ledger needs (`Ledger.pending`).
            is_settled: the condition on new incidents that are sent [default: any].
            patience: number of consecutive failures that end the round.

        Raises:
            LedgerInUse: another process sends the notices of this sink.
        """

        def accepts(row: Mapping[str, Any]) -> bool:
            return self._filter.accepts(row) and (is_settled is None or is_settled(row))

        with self._lock:
            ledger, outcome = self.open(), Round()
            # Before gold is read: a store that cannot be read must not end alerts.
            self._send_all([], ledger, outcome, patience)
            pending = ledger.pending(read(ledger), accepts)
            concerned = [*pending, *ledger.firing]
            keys = {notice.key for notice in concerned}
            self._failures = Counter({key: count for key, count in self._failures.items() if key in keys})
            self._turn = min(
                (self._failures[notice.key] for notice in pending if notice.key in self._failures), default=0
            )
            if isinstance(self.sink, RepeatingSink):
                self.sink.open_alerts = len({notice.id for notice in concerned})
            pending.sort(key=self._priorities(pending, ledger))
            self.pending = len(pending)
            size = max(CHUNK, (len(ledger) + len(pending)) // 4)
            for chunk in (pending[begin : begin + size] for begin in range(0, len(pending), size)):
                if self._goes_on(outcome, patience):
                    for notice in chunk:
                        ledger.begin(notice)
                    self._save(ledger)
                    self._send_all(chunk, ledger, outcome, patience)
            if outcome.is_available:  # it is the notices at which it failed
                for notice, failure in outcome.unconfirmed:
                    ledger.strike(notice, str(failure.reason))
            ledger.end_round(accepted=outcome.accepted, failed=outcome.failed)
            self._save(ledger)
            self.failed = sum(notice.key in self._failures for notice in pending)
            if self._repeat_at:
                outcome.repeat_s = max(min(self._repeat_at.values()) - self._clock(), 0.0)
            return outcome

    def _priorities(self, pending: Sequence[IncidentNotice], ledger: Ledger) -> Callable[[IncidentNotice], int]:
        """Return the order of notices: the number of failed attempts.

        While a sink accepts nothing, an attempt at another notice may add an unconfirmed notice, which must be sent
        again. New attempts are rarer with each of these, so their number is the square root of the number of attempts.
        """
        unconfirmed = sum(map(ledger.is_unconfirmed, pending)) if ledger.unavailable_since else 0

        def priority(notice: IncidentNotice) -> int:
            handicap = 0 if ledger.is_unconfirmed(notice) else unconfirmed // PROBED_AT_ONCE
            return self._failures[notice.key] + handicap

        return priority

    def _goes_on(self, outcome: Round, patience: int) -> bool:
        # The next owner of the ledger may have resolved alerts.
        return self._ownership.is_valid and outcome.failures_in_a_row < patience and not outcome.pause

    def _save(self, ledger: Ledger) -> None:
        began = self._clock()
        ledger.save()
        ended = self._clock()
        self._next_save = ended + max(SAVE_S, 10 * (ended - began))

    def _send_all(self, pending: Sequence[IncidentNotice], ledger: Ledger, outcome: Round, patience: int) -> None:
        """Send notices, and the open alerts that must be repeated, in batches."""
        queue, largest = deque(pending), 0
        parts: list[IncidentNotice] = []
        """The notices of batches that are sent again. A sink may have taken those at which nothing was wrong."""
        while True:
            due = self._due(ledger)
            queue.extendleft(notice for notice in reversed(due) if self._failures[notice.key] < patience)
            queue.extend(notice for notice in due if self._failures[notice.key] >= patience)
            if not queue or not self._goes_on(outcome, patience):
                break
            batch = [queue.popleft() for _ in range(min(self._batch_limit, len(queue)))]
            # As of now, since the sink may learn from the answer.
            interval = self._repeat_s
            try:
                self._send(batch)
            except SinkFailed as failure:
                outcome.pause = max(outcome.pause, min(failure.retry_after, LONGEST_PAUSE, interval))
                outcome.failures_in_a_row += not failure.is_final  # a refusal proves that the sink is there
                if failure.may_have_arrived:
                    ledger.keep(batch)
                if len(batch) > 1 and (failure.is_final or failure.may_have_arrived):
                    # Last, so that a receiver that takes other batches is not mistaken for one that is down.
                    queue.extend(batch)
                    parts += batch
                    self._batch_limit, self._clean = len(batch) // 2, 0
                    continue
                log.warning("%s", failure)
                for notice in batch:
                    self._refuse(notice, failure, ledger, outcome, interval)
            else:
                outcome.is_available, outcome.failures_in_a_row = True, 0
                largest = max(largest, len(batch))
                self._accept(batch, ledger, outcome, interval)
        for notice in queue:
            if not ledger.is_unconfirmed(notice):  # a repetition
                self._repeat_in(notice.id, 0.0)
        ledger.keep(parts)
        self._batch_limit = max(self._batch_limit, largest)  # one alert may have been the reason to send smaller ones

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

    def _accept(self, batch: Sequence[IncidentNotice], ledger: Ledger, outcome: Round, interval: float) -> None:
        self._clean += 1
        if self._clean >= CLEAN and isinstance(self.sink, RepeatingSink):
            self._batch_limit, self._clean = min(2 * self._batch_limit, LARGEST_BATCH), 0
        for notice in batch:
            self._failures.pop(notice.key, None)
            if ledger.is_unconfirmed(notice):  # not a repetition
                ledger.confirm(notice)
                outcome.accepted += 1
                self.pending -= 1
            if notice.status is NoticeStatus.FIRING:
                self._repeat_in(notice.id, interval)
            else:
                self._repeat_at.pop(notice.id, None)
        if self._clock() >= self._next_save:
            self._save(ledger)

    def _refuse(
        self, notice: IncidentNotice, failure: SinkFailed, ledger: Ledger, outcome: Round, interval: float
    ) -> None:
        """Note that the sink has not accepted a notice alone, or has received none of a batch."""
        is_repetition = not ledger.is_unconfirmed(notice)
        failures = self._failures[notice.key] + 1
        self._failures[notice.key] = failures if is_repetition else max(failures, self._turn)
        outcome.failed += not failure.is_final
        if is_repetition and failure.is_final:  # the sink has it already, or never will
            self._repeat_in(notice.id, interval)
        elif is_repetition:
            # By its failures only: the sink has the alert until a time that was set when it was accepted.
            # Not in step with other repetitions: the last one of each burst would always exceed a limit of the rate.
            spread = 0.5 + 0.5 * (failures * GOLDEN_RATIO % 1)
            self._repeat_in(notice.id, min(2.0 ** min(failures - 1, 20), interval * spread))
        elif failure.is_final:
            ledger.bury(notice, str(failure.reason))
            self.pending -= 1
            del self._failures[notice.key]
        elif failure.may_have_arrived:
            outcome.unconfirmed.append((notice, failure))
        else:
            ledger.take_back([notice.id])

    # Repetitions

    def _due(self, ledger: Ledger) -> list[IncidentNotice]:
        """Return the open alerts for which it is time, those first that were sent longest ago, and put them off."""
        now = self._clock()
        if not isinstance(self.sink, RepeatingSink) or now + RESOLUTION_S < self._next_repetition:
            return []
        firing = ledger.firing
        self._repeat_at = {notice.id: self._repeat_at.get(notice.id, -math.inf) for notice in firing}
        due = [notice for notice in firing if self._repeat_at[notice.id] <= now + RESOLUTION_S]
        due.sort(key=lambda notice: self._repeat_at[notice.id])
        self._repeat_at |= {notice.id: math.inf for notice in due}
        self._next_repetition = min(self._repeat_at.values(), default=math.inf)
        self.sink.open_alerts = max(self.sink.open_alerts, len(firing))
        return due

    def _repeat_in(self, id: str, seconds: float) -> None:
        """Repeat an open alert after some seconds."""
        self._repeat_at[id] = self._clock() + max(seconds, SHORTEST_REPETITION_S)
        self._next_repetition = min(self._next_repetition, self._repeat_at[id])
