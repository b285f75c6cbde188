"""Request-time quotas: clients share the time of a node's event loop (KIP-124).

A client is a user at an IP address. Its account is charged for the seconds of the event loop that its connections use
(accepting, reading, decrypting, decoding, handling, answering), and for its commands in the controller. Kafka throttles
a client until its usage equals its quota, by not reading from its sockets; so does a node.

The quota of Kafka is configured. Here it is an even share of the loop, 1/n for n active accounts, because one loop has
nothing but its time to divide. A client that is alone has no quota.

| state     | entered                                                        | work of the account              |
|-----------|----------------------------------------------------------------|----------------------------------|
| allowed   | the throttle time has passed, or the loop was idle             | is processed at once             |
| throttled | the usage exceeds the quota by more than `BURST_SECONDS`       | waits in one queue, sockets unread |

Invariants:

- Whatever resumes does so once per iteration of the loop and account, and checks the throttle time before. So a
  client with many connections resumes one request, not one per connection.
- Work in progress is charged, but never paused: it may hold a lock, or the queue of the controller. The excess is
  paid before the next request. Long work calls `TimeSlice.step`, so that others wait for a slice at most.
- An account outlives its connections until its throttle time has passed, so reconnecting is of no use.
"""

from __future__ import annotations

import asyncio
import types
from collections import OrderedDict, deque
from contextvars import ContextVar
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable

T = TypeVar("T")

BURST_SECONDS = 0.005
"""Burst allowance in seconds: short peaks are not throttled. Chosen, not measured: one slice."""
MAX_THROTTLE_SECONDS = 5.0
"""Maximum throttle time in seconds: enough for the longest request, about one second, with five active clients."""
ACTIVE_SECONDS = 0.1
"""Time in seconds after a charge for which an account is active: longer than one iteration of a busy loop."""
MAX_ACTIVE = 16
"""Maximum number of active accounts counted, so every client has at least a sixteenth of the loop."""
CHARGE_SECONDS = 0.0002
"""Usage in seconds that is collected before it is compared with the quota, because small requests take microseconds."""
IDLE_LOAD = 0.25
"""Load below which the loop is idle, as a fraction of the time since the last check: throttling would help no other
client. Chosen, not measured."""
CHECK_SECONDS = 0.01
"""Interval in seconds at which a throttled account checks whether the loop is idle; two checks are as far apart."""
MAX_ACCOUNTS = 1024
"""Maximum number of accounts kept without a connection; the least recently charged one is forgotten. Chosen: more than
the connections of one address, so that only an attacker with many addresses is forgotten."""
SLICE_SECONDS = 0.005
"""Maximum time in seconds for which one piece of work occupies the loop. Chosen, not measured."""

current_account: ContextVar[Account] = ContextVar("current_account")
"""The account of the request that the current task processes."""


class Account:
    """The usage of one client.

    Attributes:
        charged_at: the time of the last charge.
        throttled_until: the time at which the usage equals the quota.
    """

    __slots__ = ("__weakref__", "_is_scheduled", "_quotas", "_uncharged", "_waiting", "charged_at", "throttled_until")

    def __init__(self, quotas: RequestQuotas) -> None:
        self._quotas = quotas
        self._uncharged = 0.0
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_scheduled = False
        self.charged_at = 0.0
        self.throttled_until = 0.0

    def charge(self, seconds: float) -> None:
        """Add usage that has ended now."""
        self._uncharged += seconds
        if self._uncharged < CHARGE_SECONDS:
            return
        used, self._uncharged = self._uncharged, 0.0
        now = self._quotas.clock()
        active = self._quotas.add_usage(self, used, now)
        # The n-fold usage has to pass since the usage began, minus the burst: with n active accounts, the quota is 1/n.
        throttled_until = max(self.throttled_until, now - used - BURST_SECONDS) + active * used
        # Estimates, as for a connection, can exceed the time that has passed: a client that is alone is not throttled.
        limit = now + MAX_THROTTLE_SECONDS if active > 1 else max(self.throttled_until, now)
        self.throttled_until = min(throttled_until, limit)

    @property
    def is_throttled(self) -> bool:
        """True while the client is over its quota and the loop is busy."""
        now = self._quotas.clock()
        if self.throttled_until > now and self._quotas.is_idle(now):
            self.throttled_until = now
        return self.throttled_until > now

    def run(self, work: Callable[[], T]) -> T:
        """Call a function, and charge its time."""
        started = self._quotas.clock()
        try:
            return work()
        finally:
            self.charge(self._quotas.clock() - started)

    async def process(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, and charge its time without the pauses in which it waits."""
        current_account.set(self)
        return await self._steps(work)

    @types.coroutine
    def _steps(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Forward what a task sends and throws to `work`, and charge each step."""
        clock = self._quotas.clock
        step: Callable[[Any], Any] = work.send
        argument: Any = None
        while True:
            started = clock()
            try:
                awaited = step(argument)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.charge(clock() - started)
                argument = None  # an exception refers to this frame: the cycle would keep a canceled request in memory
            try:
                argument, step = (yield awaited), work.send
            except BaseException as error:  # noqa: BLE001  # cancellation too: `work` decides what happens
                argument, step = error, work.throw

    def call_when_allowed(self, work: Callable[[], object]) -> None:
        """Call a function in a later iteration of the loop, once the client is within its quota; charge its time."""
        self._waiting.append(work)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        throttled = self.throttled_until - self._quotas.clock()
        loop = asyncio.get_running_loop()
        if throttled > 0:
            loop.call_later(min(throttled, CHECK_SECONDS), self._resume)
        else:
            loop.call_soon(self._resume)

    def _resume(self) -> None:
        """Call the function that has waited longest."""
        self._is_scheduled = False
        try:
            if not self.is_throttled:
                self.run(self._waiting.popleft())
        finally:  # an error concerns one function; the others must not wait forever
            if self._waiting and not self._is_scheduled:
                self._schedule()


class RequestQuotas:
    """The accounts of one event loop.

    Args:
        clock: returns the time in seconds.

    Attributes:
        own: the account of work for clients that have none yet, such as keeping connections of throttled addresses.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self._accounts: WeakValueDictionary[tuple[str, str], Account] = WeakValueDictionary()
        self._recent: OrderedDict[Account, None] = OrderedDict()
        """Accounts by their last charge, the latest last. They are kept even if they have no connection."""
        self._used = 0.0
        """Seconds charged since the last check for an idle loop."""
        self._checked_at = clock()
        self.own = self.account("")

    def account(self, ip_address: str, user: str = "") -> Account:
        """Return the account of a client; `user` is empty before authentication, and for anonymous users."""
        account = self._accounts.get((ip_address, user))
        if account is None:
            account = self._accounts[ip_address, user] = Account(self)
        return account

    def add_usage(self, account: Account, seconds: float, now: float) -> int:
        """Add usage of an account, and return the number of active accounts, which includes this one."""
        self._used += seconds
        account.charged_at = now
        self._recent[account] = None
        self._recent.move_to_end(account)
        if len(self._recent) > MAX_ACCOUNTS:
            self._recent.popitem(last=False)
        # Others cannot be charged while this account occupies the loop.
        since = now - seconds - ACTIVE_SECONDS
        latest = islice(reversed(self._recent), MAX_ACTIVE)
        return sum(1 for other in latest if other.charged_at >= since)

    def is_idle(self, now: float) -> bool:
        """Return whether the load was below IDLE_LOAD since the last check; False if that was just now."""
        elapsed = now - self._checked_at
        if elapsed < CHECK_SECONDS:
            return False
        is_idle = self._used < IDLE_LOAD * elapsed
        self._checked_at, self._used = now, 0.0
        return is_idle


class TimeSlice:
    """The time for which a piece of work has occupied the loop.

    Args:
        started: start of the work, in seconds of `perf_counter`; now by default.
    """

    def __init__(self, started: float | None = None) -> None:
        self._started = perf_counter() if started is None else started

    async def step(self) -> None:
        """Let other tasks run if the slice is used up. Call it after every small piece of work."""
        if perf_counter() - self._started >= SLICE_SECONDS:
            await asyncio.sleep(0)
            self._started = perf_counter()

    def suspend(self) -> None:
        """Stop the clock while the work waits for something else."""
        self._started -= perf_counter()

    def resume(self) -> None:
        """Continue after `suspend`."""
        self._started += perf_counter()


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate, and let other tasks run whenever the slice is used up."""
    time_slice = TimeSlice()
    for item in items:
        yield item
        await time_slice.step()
