"""Open connections of a listener: their number, and the memory that they occupy together."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kwire_cluster.node.listener.connection_limits import ConnectedClient, Limits, Observer
    from kwire_cluster.request_quotas import RequestQuotas


class OpenConnection(Protocol):
    """A connection, as far as limits for all connections are concerned."""

    client: ConnectedClient
    ip_address: str

    @property
    def occupied(self) -> int:
        """The number of bytes that are received but not answered, or not sent yet."""

    def close_for_memory(self, occupied: int) -> None:
        """Free the memory at once."""

    def finish(self) -> None:
        """Answer the requests in progress, then close."""

    def abort(self) -> None:
        """Close the connection immediately, and discard unsent responses."""

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its timeouts has passed."""


class OpenConnections:
    """The open connections of a listener.

    Memory is not added up for every byte: a check is scheduled once connections have grown by a sixteenth of the limit.
    Until it has run, no connection starts another request (`memory_check_pending`).

    Attributes:
        observer: receives the events of connections.
        limits: apply to connections that are opened from now on.
        quotas: the accounts of clients.
        reserved: the number of reserved connections by address.
        memory_check_pending: True while connections must wait before they start further requests.
    """

    def __init__(self, observer: Observer, limits: Limits, quotas: RequestQuotas) -> None:
        self.observer = observer
        self.limits = limits
        self.quotas = quotas
        self.reserved: Counter[str] = Counter()
        self.memory_check_pending = False
        self._connections: set[OpenConnection] = set()
        self._of_addresses: Counter[str] = Counter()
        self._growth = 0
        """Bytes that connections have buffered since the last memory check."""
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._connections)

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter(self._connections)

    async def wait_empty(self) -> None:
        """Wait until every connection is closed."""
        await self._empty.wait()

    def add(self, connection: OpenConnection) -> None:
        """Register an open connection."""
        self._connections.add(connection)
        self._of_addresses[connection.ip_address] += 1
        self.reserved[connection.ip_address] += connection.client.is_reserved
        self._empty.clear()

    def remove(self, connection: OpenConnection) -> None:
        """Unregister a closed connection."""
        self._connections.discard(connection)
        self._of_addresses[connection.ip_address] -= 1
        self.reserved[connection.ip_address] -= connection.client.is_reserved
        if not self._of_addresses[connection.ip_address]:
            del self._of_addresses[connection.ip_address], self.reserved[connection.ip_address]
        if not self._connections:
            self._empty.set()

    def exceeded_limit(self, ip_address: str, unopened: int = 0, unopened_of_address: int = 0) -> str | None:
        """Return the limit that a further connection of an address exceeds, or None.

        Args:
            ip_address: the address.
            unopened: the number of connections that are accepted, but not opened.
            unopened_of_address: the number of unopened connections of this address.
        """
        limits = self.limits
        if len(self._connections) + unopened >= limits.connections:
            return f"more than {limits.connections} connections"
        if self._of_addresses[ip_address] + unopened_of_address >= limits.connections_per_address:
            return f"more than {limits.connections_per_address} connections of {ip_address}"
        return None

    def add_buffered_bytes(self, size: int) -> None:
        """Count bytes that a connection occupies in addition, and schedule a memory check if that matters."""
        before, threshold = self._growth, self.limits.memory // 16
        self._growth += size
        if before <= threshold < self._growth:
            self.memory_check_pending = True
            asyncio.get_running_loop().call_soon(self._enforce_memory)

    def _enforce_memory(self) -> None:
        self._growth = 0
        self.memory_check_pending = False
        enforce_memory(self._connections, self.limits.memory)


def enforce_memory(connections: Collection[OpenConnection], limit: int) -> None:
    """Close connections until all together occupy at most `limit` bytes.

    Of the address that occupies most, the connection that occupies most is closed first. So unfinished frames, or
    unread responses, cost connections of their sender, but not of others.
    """
    sizes = {connection: connection.occupied for connection in connections}
    excess = sum(sizes.values()) - limit
    if excess <= 0:
        return
    by_address: dict[str, list[OpenConnection]] = {}
    for connection in sorted(sizes, key=sizes.__getitem__):
        by_address.setdefault(connection.ip_address, []).append(connection)
    totals = {address: sum(map(sizes.__getitem__, members)) for address, members in by_address.items()}
    while excess > 0:
        greediest = max(totals, key=totals.__getitem__)
        connection = by_address[greediest].pop()
        connection.close_for_memory(sizes[connection])
        totals[greediest] -= sizes[connection]
        excess -= sizes[connection]
