"""Fair shares of an event loop: addresses share its time, and the connections of an address share that of the address.

- The time that a request takes is charged to its connection and to its address after it was used. A connection or an
  address that has used more than an even share of the loop waits while others are active, that is, while bytes arrive
  from them.
- Nothing waits while the loop is mostly idle.
- Work that belongs to no connection, such as that of the controller, has a share like an address.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

T = TypeVar("T")

__all__ = ["ConnectionShare", "LoopShares", "Measured"]

SETTLE_SECONDS = 0.0002
"""Time that a connection may use before it is compared with the shares of others."""
BURST_SECONDS = 0.005
"""Time by which a share may be ahead of its due, so that short peaks do not wait."""
ACTIVE_SECONDS = 0.1
"""Time for which a connection counts as active after bytes have arrived from it: longer than one iteration of a busy
loop."""
RECOUNT_SECONDS = 0.005
MAX_OTHERS = 16
"""Others that are counted at most. A share is at least one part of so many and one."""
LONGEST_WAIT = 5.0
TICK_SECONDS = 0.002
"""The interval at which those that wait are looked at, a few at a time."""
CHECK_SECONDS = 0.02
"""The interval at which a task that waits for its share checks whether it holds up others."""
WINDOW_SECONDS = 0.01
IDLE_SHARE = 0.25
"""The part of a window below which the loop is mostly idle, so that the first that waits may continue."""
MAX_LOOKED_AT = 64
"""Those that wait that are looked at in one tick."""
MAX_REMEMBERED = 256
"""Shares of addresses that are kept before those that are due are forgotten."""

BYTE_SECONDS = 0.5e-9
"""The time that the system takes to receive a byte, which is used before a connection sees the byte."""
CONNECTION_SECONDS = 0.0005
"""The time that opening and closing a connection takes, most of it outside of the connection itself."""
LEAST_REFUSAL, LONGEST_REFUSAL = 0.002, 1.0
"""Seconds: the time that a refused request takes at least, with its connection and its line in the log, and the longest
delay before its connection is closed."""


class _Group:
    """Shares that compete with each other."""

    __slots__ = ("_active", "_counted_at", "members")

    def __init__(self) -> None:
        self.members: WeakSet[_Share] = WeakSet()
        self._active = 0
        self._counted_at = 0.0

    def active(self, now: float) -> int:
        """Return the number of members that are active, at most one more than `MAX_OTHERS`."""
        if now - self._counted_at > RECOUNT_SECONDS:
            self._counted_at = now
            self._active = 0
            for member in self.members:
                if now - member.seen < ACTIVE_SECONDS:
                    self._active += 1
                    if self._active > MAX_OTHERS:
                        break
        return self._active


class _Share:
    """What one member of a group has used.

    Attributes:
        seen: when bytes arrived, in seconds of the loop's clock.
        due: when the member may continue.
    """

    __slots__ = ("__weakref__", "_group", "due", "seen")

    def __init__(self, group: _Group) -> None:
        self._group = group
        self.seen = 0.0
        self.due = 0.0
        group.members.add(self)

    def charge(self, used: float, now: float) -> None:
        """Note that the member has used time until now."""
        others = self._group.active(now) - (now - self.seen < ACTIVE_SECONDS)
        due = max(self.due, now - used - BURST_SECONDS) + used * (1 + max(others, 0))
        self.due = min(due, now + LONGEST_WAIT)


class _AddressShare(_Share):
    """The share of an address, and the group of its connections."""

    __slots__ = ("connections", "refusals_until")

    def __init__(self, group: _Group) -> None:
        super().__init__(group)
        self.connections = _Group()
        self.refusals_until = 0.0


class ConnectionShare(_Share):
    """The share of one connection of an address.

    Attributes:
        address: the share of its address.
        used: the seconds that are not charged yet. Whoever uses the loop adds to it, and calls `settle`.
    """

    __slots__ = ("_shares", "_step_began", "address", "used")

    current: ClassVar[ContextVar[ConnectionShare]] = ContextVar("current")
    """The share of the connection that the current task works for."""
    holds_up_others: ClassVar[ContextVar[Callable[[], bool]]] = ContextVar("holds_up_others")
    """Returns whether others wait until the current task is complete, which then does not wait for its share."""

    def __init__(self, shares: LoopShares, address: _AddressShare) -> None:
        super().__init__(address.connections)
        self._shares = shares
        self.address = address
        self.used = 0.0
        self._step_began = 0.0

    def arrived(self, now: float) -> None:
        """Note that bytes have arrived."""
        self.seen = self.address.seen = now

    def settle(self, now: float) -> None:
        """Charge what was used."""
        used, self.used = self.used, 0.0
        self._shares.used += used
        self.charge(used, now)
        self.address.charge(used, now)
        if self.address.due > now:
            self._shares.remember(self.address, now)

    def begin_step(self) -> None:
        """Note that a task of the connection continues."""
        self._step_began = perf_counter()

    def end_step(self) -> None:
        """Count the time since `begin_step`, or since the last call of this function."""
        now = perf_counter()
        self.used += now - self._step_began
        self._step_began = now

    def is_due(self, now: float) -> bool:
        """Return whether the connection may continue."""
        return self.due <= now and self.address.due <= now

    def call_when_due(self, callback: Callable[[], object]) -> None:
        """Call a function once the connection may continue, in a later iteration of the loop."""
        self._shares.add_waiting(self, callback)

    async def wait_due(self) -> None:
        """Wait until the connection may continue, or holds up others; at least for one turn of other tasks."""
        loop = asyncio.get_running_loop()
        self.end_step()
        self.settle(loop.time())
        holds_up_others = self.holds_up_others.get(None)
        if self.is_due(loop.time()) or (holds_up_others is not None and holds_up_others()):
            await asyncio.sleep(0)
            return
        due: asyncio.Future[None] = loop.create_future()
        self.call_when_due(lambda: _complete(due))
        if holds_up_others is None:
            await due
            return
        while not due.done() and not holds_up_others():
            await asyncio.wait([due], timeout=CHECK_SECONDS)

    def refusal_delay(self, used: float) -> float:
        """Return after how many seconds to close the connection, which has sent an invalid request.

        Refusals of an address follow each other at twice the time that they took, multiplied by the number of active
        addresses. So a client that reconnects and sends the next one leaves their shares to others.

        Args:
            used: the seconds that reading the request took.
        """
        now = asyncio.get_running_loop().time()
        used = max(used, LEAST_REFUSAL)
        address = self.address
        spacing = 2 * used * max(1, self._shares.active_addresses(now))
        address.refusals_until = min(max(address.refusals_until, now) + spacing, now + LONGEST_REFUSAL)
        self._shares.remember(address, now)
        return address.refusals_until - now


def _complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Waiting(NamedTuple):
    share: ConnectionShare
    callback: Callable[[], object]


class LoopShares:
    """The shares of one event loop.

    Attributes:
        used: the seconds that all have used.
        own: the share of work that belongs to no connection.
    """

    __slots__ = (
        "_addresses",
        "_by_name",
        "_indebted",
        "_loop",
        "_timer",
        "_used_before",
        "_waiting",
        "_window_began",
        "own",
        "used",
    )

    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopShares]] = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.used = 0.0
        self._addresses = _Group()
        self._by_name: WeakValueDictionary[str, _AddressShare] = WeakValueDictionary()
        self._indebted: set[_AddressShare] = set()
        self._waiting: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._window_began = 0.0
        self._used_before = 0.0
        self.own = self.connection("")

    @classmethod
    def of_loop(cls) -> LoopShares:
        """Return the shares of the running loop."""
        loop = asyncio.get_running_loop()
        found = cls._of_loops.get(loop)
        if found is None:
            found = cls._of_loops[loop] = cls(loop)
        return found

    def connection(self, ip_address: str) -> ConnectionShare:
        """Return the share of a new connection."""
        address = self._by_name.get(ip_address)
        if address is None:
            address = self._by_name[ip_address] = _AddressShare(self._addresses)
        return ConnectionShare(self, address)

    def active_addresses(self, now: float) -> int:
        """Return the number of addresses from which bytes arrived recently, limited to some."""
        return self._addresses.active(now)

    def remember(self, address: _AddressShare, now: float) -> None:
        """Keep the share of an address until it is due, even if it has no connection meanwhile."""
        if len(self._indebted) >= MAX_REMEMBERED:
            self._indebted = {one for one in self._indebted if max(one.due, one.refusals_until) > now}
        self._indebted.add(address)

    def add_waiting(self, share: ConnectionShare, callback: Callable[[], object]) -> None:
        """See `ConnectionShare.call_when_due`."""
        if self._timer is None:
            self._begin_window()
            self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        self._waiting.append(_Waiting(share, callback))

    def _tick(self) -> None:
        """Call those that are due; the first that waits, if the loop was mostly idle."""
        now = self._loop.time()
        waiting = self._waiting
        elapsed = now - self._window_began
        if elapsed >= WINDOW_SECONDS:
            if self.used - self._used_before < IDLE_SHARE * elapsed:
                share, callback = waiting.popleft()
                share.due = share.address.due = now
                callback()
            self._begin_window()
        self._call_due(now, [waiting.popleft() for _ in range(min(len(waiting), MAX_LOOKED_AT))])
        self._timer = self._loop.call_later(TICK_SECONDS, self._tick) if waiting else None

    def _begin_window(self) -> None:
        self._window_began = self._loop.time()
        self._used_before = self.used

    def _call_due(self, now: float, looked_at: Iterable[_Waiting]) -> None:
        called: set[_AddressShare] = set()
        for one in looked_at:
            if one.share.address not in called and one.share.is_due(now):
                called.add(one.share.address)
                one.callback()
            else:
                self._waiting.append(one)


class Measured(Coroutine[Any, Any, T]):
    """A coroutine, the steps of which are charged to a share."""

    __slots__ = ("_coroutine", "_share")

    def __init__(self, coroutine: Coroutine[Any, Any, T], share: ConnectionShare) -> None:
        self._coroutine = coroutine
        self._share = share

    def send(self, value: Any) -> Any:
        self._share.begin_step()
        try:
            return self._coroutine.send(value)
        finally:
            self._share.end_step()

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        self._share.begin_step()
        try:
            if isinstance(typ, BaseException):
                return self._coroutine.throw(typ)
            return self._coroutine.throw(typ, val, tb)
        finally:
            self._share.end_step()
            del typ, val, tb  # the exception refers to this frame: together they would keep a canceled request

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()
