"""The thread of a sink, which decides when the next round begins.

Threads are woken after each build of gold, so neither a slow sink nor a failing one delays gold or another sink.

| outcome of a round | next round |
|---|---|
| nothing failed | at the next build, or once open alerts must be repeated |
| the sink accepted something and failed at something | a build, at most `FIRST_BACKOFF` later |
| the sink accepted nothing | not before a backoff, which doubles up to `LONGEST_BACKOFF` |
| the sink asked for a pause | not before its end |
| another job sends the notices of the sink | `STANDBY` later |
"""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.sinks.delivery import FAILURES_IN_A_ROW, Round, SinkDelivery
from kwire_pipeline.sinks.ledger_owner import LedgerInUse

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_BACKOFF = 1.0
"""Seconds after the first round in which the sink accepted nothing."""

LONGEST_BACKOFF = 60.0
"""Maximum number of seconds between rounds that fail, unless the sink asks for more."""

STANDBY = 5.0
"""Seconds between attempts to own a ledger that another job owns."""

log = logging.getLogger(__name__)


class RoundPlan(NamedTuple):
    """The plan after a round: seconds until the next one, seconds of rest if gold changes, and the next backoff."""

    delay: float
    rest: float
    backoff: float


def plan(outcome: Round, backoff: float) -> RoundPlan:
    """Plan the next round of a sink; `backoff` is the time that another failure costs."""
    if not outcome.failed and not outcome.pause:
        return RoundPlan(outcome.repeat_s, 0.0, FIRST_BACKOFF)
    if outcome.is_available:  # a notice at which the sink fails delays neither new ones nor repetitions
        return RoundPlan(outcome.pause or min(FIRST_BACKOFF, outcome.repeat_s), outcome.pause, FIRST_BACKOFF)
    rest = max(outcome.pause, backoff if outcome.failed else 0.0)
    return RoundPlan(rest, rest, min(backoff * 2, LONGEST_BACKOFF) if outcome.failed else backoff)


class SinkThread:
    """The thread of a sink. It begins with the first `wake`.

    Args:
        delivery: the delivery of notices to the sink.
        run_round: runs a round of it, with the number of consecutive failures that end it.
    """

    def __init__(self, delivery: SinkDelivery, run_round: Callable[[SinkDelivery, int], Round]) -> None:
        self._delivery = delivery
        self._run_round = run_round
        self._condition = threading.Condition()
        self._next_at = math.inf
        self._not_before = 0.0
        self._backoff = FIRST_BACKOFF
        self._is_ending = False
        self._owner = ""
        """The other job that sends the notices of the sink, if any."""
        name = f"kwire-sink-{delivery.sink.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def open(self) -> None:
        """Own the ledger if no other job does, so that a new sink begins now."""
        try:
            self._delivery.open()
        except LedgerInUse as error:
            self._report_owner(error)

    def wake(self) -> None:
        """Run a round as soon as the sink is not paused."""
        with self._condition:
            self._next_at = min(self._next_at, max(time.monotonic(), self._not_before))
            self._condition.notify()
            if self._thread.ident is None and not self._is_ending:
                self._thread.start()

    def request_end(self) -> None:
        """Let the thread run a last round and end."""
        with self._condition:
            self._is_ending = True
            self._condition.notify()

    def join(self, timeout: float) -> None:
        """Wait until the thread has ended."""
        if self._thread.ident is None:
            self._delivery.release()
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("%s is slow: the next job sends it the rest", self._delivery.sink.name)

    def _run(self) -> None:
        while self._wait():
            planned = plan(self._publish(FAILURES_IN_A_ROW), self._backoff)
            with self._condition:
                now = time.monotonic()
                self._backoff, self._not_before = planned.backoff, now + planned.rest
                self._next_at = max(min(self._next_at, now + planned.delay), self._not_before)
        self._publish(patience=1)
        self._delivery.release()

    def _publish(self, patience: int) -> Round:
        """Run a round. The thread survives a store that cannot be read or a full disk, since alerts depend on it."""
        try:
            outcome = self._run_round(self._delivery, patience)
        except LedgerInUse as error:
            self._report_owner(error)
            return Round(pause=STANDBY)
        except Exception:
            log.exception("incidents could not be sent to %s, which is tried again", self._delivery.sink.name)
            return Round(failed=1)
        self._owner = ""
        return outcome

    def _wait(self) -> bool:
        """Wait for the next round; False if the thread must end."""
        with self._condition:
            while not self._is_ending and (left := self._next_at - time.monotonic()) > 0:
                self._condition.wait(min(left, threading.TIMEOUT_MAX))
            self._next_at = math.inf
            return not self._is_ending

    def _report_owner(self, error: LedgerInUse) -> None:
        if error.owner != self._owner:
            self._owner = error.owner
            log.warning("%s: this job waits until it ends", error)
