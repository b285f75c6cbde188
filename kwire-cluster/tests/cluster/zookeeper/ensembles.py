"""Two ensembles for the same tests: in memory, and a server behind proxies that can end connections."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Protocol

from kazoo.client import KazooClient

from kwire.protocol.server_shutdown import close_server
from kwire_cluster.zookeeper import connect, make_path
from tests.cluster.memory_store import InjectedFault, MemoryStore, MemoryZooKeeper

if TYPE_CHECKING:
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire_cluster.zookeeper.store import Store
    from kwire_cluster.zookeeper.zookeeper_store import ZooKeeperStore

_NAMES = itertools.count()


class Ensemble(Protocol):
    """An ensemble for tests. Sessions see an empty tree, except for ZooKeeper's own znodes."""

    async def session(self) -> Store:
        """Open a connected session."""

    def disconnect(self, store: Store) -> None:
        """End the connection of a session, which reconnects at once."""

    def lose_responses(self, store: Store) -> None:
        """Apply the requests of a session, but lose the responses, until `disconnect`."""

    async def expire(self, store: Store) -> None:
        """Expire a session."""

    async def close(self) -> None:
        """Close all sessions."""


class TwoSessions:
    """Two sessions of one ensemble."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    async def __aenter__(self) -> tuple[Store, Store]:
        return await self._ensemble.session(), await self._ensemble.session()

    async def __aexit__(self, *_: object) -> None:
        await self._ensemble.close()


class MemoryEnsemble:
    def __init__(self) -> None:
        self.memory = MemoryZooKeeper()
        self._sessions: list[MemoryStore] = []

    async def session(self) -> MemoryStore:
        store = self.memory.session()
        self._sessions.append(store)
        return store

    def disconnect(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        self.memory.inject_fault = None
        store.disconnect()
        store.reconnect()

    def lose_responses(self, store: Store) -> None:
        self.memory.inject_fault = lambda session, _: (
            InjectedFault.LOSE_RESPONSE if session is store else InjectedFault.NONE
        )

    async def expire(self, store: Store) -> None:
        self.memory.expire(store.session_id)

    async def close(self) -> None:
        for store in self._sessions:
            await store.close()


class Proxy:
    """A proxy between one client and the server."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self.forwards_responses = True
        self.accepts = True
        self.silent = 0
        """Number of further connections to accept without ever responding."""

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def disconnect(self) -> None:
        self.forwards_responses = True
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self._closed = True
        await close_server(self._server)
        self.disconnect()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.accepts:
            writer.transport.abort()
            return
        if self.silent:
            self.silent -= 1
            self._writers.add(writer)
            return
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
        if self._closed:  # closed while connecting
            writer.transport.abort()
            server_writer.transport.abort()
            return
        self._writers |= {writer, server_writer}
        for source, sink in ((reader, server_writer), (server_reader, writer)):
            task = asyncio.create_task(self._forward(source, sink, is_response=sink is writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_response: bool) -> None:
        try:
            while chunk := await source.read(65536):
                if self.forwards_responses or not is_response:
                    sink.write(chunk)
                    await sink.drain()
        except OSError:
            return
        finally:
            sink.transport.abort()
            self._writers.discard(sink)


class ServerEnsemble:
    """A separate chroot of the server that all tests share."""

    def __init__(self, server: EmbeddedZooKeeper) -> None:
        self._server = server
        self._root = f"/ensemble-{next(_NAMES)}"
        self._sessions: dict[Store, Proxy] = {}

    async def session(self, session_timeout: float = 10) -> ZooKeeperStore:
        if not self._sessions:
            root = await connect(self._server.hosts)
            await make_path(root, self._root)
            await root.close()
        proxy = Proxy(self._server.port)
        port = await proxy.start()
        store = await connect(f"127.0.0.1:{port}{self._root}", session_timeout=session_timeout)
        self._sessions[store] = proxy
        return store

    def proxy(self, store: Store) -> Proxy:
        return self._sessions[store]

    def disconnect(self, store: Store) -> None:
        self._sessions[store].disconnect()

    def lose_responses(self, store: Store) -> None:
        self._sessions[store].forwards_responses = False

    async def expire(self, store: Store) -> None:
        """Close the session through another client with the same password.

        The store stays disconnected meanwhile, because the clients would move the session between each other.
        """
        client_id = (store.session_id, store._password)  # type: ignore[attr-defined]  # only this test needs the password
        proxy = self._sessions[store]
        proxy.accepts = False
        proxy.disconnect()
        client = KazooClient(self._server.hosts, client_id=client_id)
        await asyncio.to_thread(client.start)
        await asyncio.to_thread(client.stop)
        await asyncio.to_thread(client.close)
        proxy.accepts = True

    async def close(self) -> None:
        for store, proxy in self._sessions.items():
            proxy.accepts = True
            await store.close()
            await proxy.close()
