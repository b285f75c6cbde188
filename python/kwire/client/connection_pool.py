"""Connections to the brokers of a cluster, at most one per endpoint, reopened on demand.

A connection may be dead without any sign: a load balancer has forgotten it, or a firewall drops its packets. So a
request over a connection that was open before is *exchanged*: if there is no response for a part of the timeout,
another connection is opened, the request is sent there as well, and the first response counts. The older connection is
closed once no caller waits for it. A request that must not be sent twice gets a connection that has just responded.

| a connection is | until                                                                                   |
|-----------------|-----------------------------------------------------------------------------------------|
| current         | it fails, is idle for `max_idle` seconds, or is silent while another one opens |
| retired         | no request waits for its response any more; it gets no new ones                          |
"""

from __future__ import annotations

from kwire._util.concurrency import gather, lock, running_loop
from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.connection import TIMEOUT, Connection
from kwire.client.connection_config import ConnectionConfig
from kwire.client.race import first_success
from kwire.protocol.errors import ConnectionClosed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Hashable
    from typing import Any, Unpack

    from kwire.client.connection_config import ConnectionOptions
    from kwire.declare import Message, Request
    from kwire.protocol.endpoint import Endpoint

R = TypeVar("R", bound="Message")
T = TypeVar("T")

SILENT_SHARE, LONGEST_SILENT_SHARE = 0.1, 0.5
"""Parts of the timeout after which a silent connection is doubted: usually, and for requests that took long before. A
response is late after twice the time of the last one, so that a slow broker does not get expensive requests twice.
Chosen, not measured."""
VERIFIED_FOR_S = 1.0
"""Seconds after a response for which a connection is trusted with a request that must not be sent twice. Chosen."""


class PooledConnection:
    """The connection to one endpoint.

    Changing `endpoint` replaces the connection with the next request. Each new connection negotiates API versions. The
    options are those of `Connection.open`.
    """

    def __init__(self, endpoint: Endpoint, **options: Unpack[ConnectionOptions]) -> None:
        self.endpoint = endpoint
        self._options = options
        self._config = ConnectionConfig.check(options.get("config"))
        self._timeout = options.get("timeout", TIMEOUT)
        self._connection: Connection | None = None
        self._retired: list[Connection] = []
        self._connecting = lock()
        self._replacing = lock()
        self._throttled_until = 0.0
        self._durations: dict[Hashable, float] = {}
        """Seconds that the last responses took, by kind of request."""
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def is_open(self) -> bool:
        """True while a connection exists and has not failed."""
        return self._connection is not None and self._connection.fault is None

    @property
    def throttled_until(self) -> float:
        """The time until which the broker throttles this client, in seconds of the event loop's clock."""
        return max(self._throttled_until, 0.0 if self._connection is None else self._connection.throttled_until)

    @property
    def certificate_expiry(self) -> float | None:
        """The end of the peer's certificate in seconds since 1970; None without TLS or a connection."""
        return None if self._connection is None else self._connection.certificate_expiry

    async def get(self) -> Connection:
        """Return the open connection, connecting first if necessary.

        Raises:
            ConnectionFault: the broker cannot be reached, or this object is closed.
        """
        return (await self._get())[0]

    async def get_verified(self) -> Connection:
        """Return a connection that has responded within the last second, or responds now. Raises ConnectionFault."""
        connection, is_new = await self._get()
        if is_new or running_loop().time() - connection.received_at < VERIFIED_FOR_S:
            return connection

        async def ask(connection: Connection) -> Connection:
            await connection.ask_versions()
            return connection

        return await self.exchange(ask, "verification")

    async def exchange(self, send: Callable[[Connection], Coroutine[Any, Any, T]], kind: Hashable) -> T:
        """Send a request over the open connection, and over another one if that connection turns out to be dead.

        Args:
            send: sends the request over a connection and returns the result. It may be called twice.
            kind: the kind of request, such as its API key: requests of one kind take about the same time.

        Raises:
            ConnectionFault: the broker cannot be reached, or did not respond in time.
        """
        connection, is_new = await self._get()
        loop = running_loop()
        begun = loop.time()

        async def send_first() -> T:
            return await send(connection)

        async def send_over_another() -> T:
            return await send(await self._another(connection))

        def is_alive() -> bool:
            """Return whether the connection receives a response at the moment, or is throttled."""
            nonlocal begun
            was_silent_since, begun = begun, loop.time()
            return connection.received_at > was_silent_since or connection.throttled_until > begun

        last = self._durations.get(kind, 0.0)
        delay = min(max(SILENT_SHARE * self._timeout, 2 * last), LONGEST_SILENT_SHARE * self._timeout)
        attempts = [send_first] if is_new else [send_first, send_over_another]
        try:
            # Lost connections are ConnectionErrors. Another fault, such as an invalid response, came from the broker.
            result = await first_success(
                attempts, delay, is_final=lambda error: not isinstance(error, ConnectionError), is_progressing=is_alive
            )
        finally:
            self._close_retired()
        self._durations[kind] = max(loop.time() - max(begun, connection.throttled_until), 0.0)
        return result

    def release_buffer(self) -> None:
        """Release the memory for received bytes, if the connection is open, until the next bytes arrive."""
        if self._connection is not None:
            self._connection.release_buffer()

    async def close(self) -> None:
        """Close the connection. A connection that is being opened is closed as soon as it is open."""
        self._closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for connection in self._retired:
            await connection.close()
        await self._close_connection()

    async def _get(self) -> tuple[Connection, bool]:
        """Return the open connection, and whether it was opened for this call."""
        is_new = False
        async with self._connecting:
            current = self._connection
            if current is not None and (current.fault is not None or current.endpoint != self.endpoint):
                await self._close_connection()
            if self._connection is None and not self._closed:
                self._use(await Connection.open(self.endpoint, **self._options))
                is_new = True
            if self._closed:  # also if `close` was called while connecting
                await self._close_connection()
            if self._connection is None:
                raise ConnectionClosed(self.endpoint, 0, "by us")
            return self._connection, is_new

    async def _another(self, silent: Connection) -> Connection:
        """Return a connection that is not `silent`, and retire that one."""
        async with self._replacing:  # not `_connecting`: meanwhile, requests may use the silent connection
            if self._connection is silent and silent.fault is None:
                another = await Connection.open(self.endpoint, **self._options)
                if self._connection is silent:
                    self._retired.append(silent)
                    self._use(another)
                else:
                    await another.close()
        return await self.get()

    def _use(self, connection: Connection) -> None:
        """Make a new connection the current one. A quota of the broker does not end with a connection."""
        connection.throttle_until(self.throttled_until)
        self._connection = connection
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._check_idle()

    def _check_idle(self) -> None:
        """Close the connection if it has been idle for long, and look again when it may have been."""
        connection, max_idle = self._connection, self._config.max_idle
        if connection is None or connection.fault is not None or max_idle is None:
            return
        loop = running_loop()
        idle = 0.0 if connection.is_awaited else loop.time() - max(connection.received_at, connection.throttled_until)
        if idle >= max_idle:
            self._throttled_until = connection.throttled_until
            self._connection = None
            connection.abort()
            return
        self._idle_timer = loop.call_later(max_idle - max(idle, 0.0), self._check_idle)

    def _close_retired(self) -> None:
        """Close the retired connections for which no caller waits any more."""
        for connection in self._retired:
            if not connection.is_awaited:
                connection.abort()
        self._retired = [connection for connection in self._retired if connection.fault is None]

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._throttled_until = max(self._throttled_until, connection.throttled_until)
            await connection.close()


class ConnectionPool:
    """Connections to any number of endpoints, each opened when it is first used.

    The options are those of `Connection.open`.
    """

    def __init__(self, **options: Unpack[ConnectionOptions]) -> None:
        ConnectionConfig.check(options.get("config"))
        self._options = options
        self._connections: dict[Endpoint, PooledConnection] = {}
        self._closed = False

    def at(self, endpoint: Endpoint) -> PooledConnection:
        """Return the connection to `endpoint`, which might not be open yet.

        Raises:
            ConnectionClosed: the pool is closed.
        """
        if self._closed:
            raise ConnectionClosed(endpoint, 0, "by us")
        pooled = self._connections.get(endpoint)
        if pooled is None:
            pooled = self._connections[endpoint] = PooledConnection(endpoint, **self._options)
        return pooled

    def throttled_until(self, endpoint: Endpoint) -> float:
        """Return until when a broker throttles this client, in seconds of the event loop's clock; 0 if it does not."""
        pooled = self._connections.get(endpoint)
        return 0.0 if pooled is None else pooled.throttled_until

    async def get(self, endpoint: Endpoint) -> Connection:
        """Return the open connection to `endpoint`, connecting first if necessary.

        Raises:
            ConnectionFault: the broker cannot be reached, or the pool is closed.
        """
        return await self.at(endpoint).get()

    async def send(self, endpoint: Endpoint, request: Request[R], *, version: int | None = None) -> R:
        """Send a request to `endpoint`, once, and return its response.

        Args:
            version: the API version; by default the highest one that client and broker have in common.

        Raises:
            ConnectionFault: the broker cannot be reached, does not respond, or its response cannot be decoded.
            EncodeError: the request cannot be encoded in this version.
        """
        connection = await self.get(endpoint)
        return await connection.send(request, version=version)

    async def close(self) -> None:
        """Close all connections. Requests in flight fail with ConnectionClosed."""
        self._closed = True
        connections = list(self._connections.values())
        self._connections.clear()
        await gather(*(connection.close() for connection in connections))
