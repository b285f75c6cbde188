"""Waiting requests: addresses take turns, and so do the connections of an address.

The requests of one connection keep their order. Requests without a connection, such as those of the node itself, take
turns like those of an address.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cluster.loop_shares import ConnectionShare

T = TypeVar("T")

__all__ = ["RequestTurns"]


class RequestTurns(Generic[T]):
    """Requests that wait, and the order in which they take turns."""

    def __init__(self) -> None:
        self._addresses: OrderedDict[object, OrderedDict[object, deque[T]]] = OrderedDict()
        """By address and connection; the first has the next turn."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for connections in self._addresses.values():
            for waiting in connections.values():
                yield from waiting

    def waiting_of(self, share: ConnectionShare) -> int:
        """Return the number of waiting requests of the address of a connection."""
        return sum(map(len, self._addresses.get(share.address, {}).values()))

    def has_others(self, share: ConnectionShare) -> bool:
        """Return whether requests of another address wait."""
        return len(self._addresses) > (share.address in self._addresses)

    def add(self, share: ConnectionShare | None, request: T) -> None:
        """Add a request behind the others of its connection."""
        address = None if share is None else share.address
        self._addresses.setdefault(address, OrderedDict()).setdefault(share, deque()).append(request)
        self._count += 1

    def first(self) -> T:
        """Return the request that has the next turn.

        Raises:
            StopIteration: no request waits.
        """
        return next(iter(self))

    def take(self) -> T:
        """Remove and return the request that has the next turn; its address and connection have the last one then.

        Raises:
            StopIteration: no request waits.
        """
        address, connections = next(iter(self._addresses.items()))
        share, waiting = next(iter(connections.items()))
        request = waiting.popleft()
        self._count -= 1
        if waiting:
            connections.move_to_end(share)
        else:
            del connections[share]
        if connections:
            self._addresses.move_to_end(address)
        else:
            del self._addresses[address]
        return request

    def clear(self) -> None:
        """Remove all requests."""
        self._addresses.clear()
        self._count = 0
