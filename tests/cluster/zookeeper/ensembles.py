"""Two ensembles for the same tests: one in memory, and a real server behind proxies that can cut connections."""

from __future__ import annotations

import asyncio
import functools
import itertools
from typing import TYPE_CHECKING, Any, Protocol

from kazoo.client import KazooClient

from kwire.cluster.zookeeper import connect, make_path
from kwire.cluster.zookeeper.memory_store import MemoryStore, MemoryZooKeeper
from kwire.protocol.server_shutdown import close_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.cluster.zookeeper.kazoo_store import KazooStore
    from kwire.cluster.zookeeper.store import Store

_NAMES = itertools.count()


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*arguments: Any, **keywords: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(30):
                await test(*arguments, **keywords)

        asyncio.run(bounded())

    return run


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait for what callbacks bring about."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for is made of many callbacks
            await asyncio.sleep(0.005)


class Ensemble(Protocol):
    """What tests need of one. Sessions see a tree that is empty but for what ZooKeeper itself keeps there."""

    async def session(self) -> Store:
        """A new one, connected."""

    def cut(self, store: Store) -> None:
        """Cut the session's connection; it may connect again at once."""

    def lose_answers(self, store: Store) -> None:
        """From now on what the session asks for is done, and the answer lost; ``cut`` ends that."""

    async def expire(self, store: Store) -> None:
        """End the session as the server does."""

    async def close(self) -> None:
        """Close all sessions that are open."""


class MemoryEnsemble:
    def __init__(self) -> None:
        self.memory = MemoryZooKeeper()
        self._sessions: list[MemoryStore] = []

    async def session(self) -> MemoryStore:
        store = self.memory.session()
        self._sessions.append(store)
        return store

    def cut(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        self.memory.interrupt = None
        store.disconnect()
        store.reconnect()

    def lose_answers(self, store: Store) -> None:
        self.memory.interrupt = lambda session, _: "lose answer" if session is store else "serve"

    async def expire(self, store: Store) -> None:
        self.memory.expire(store.session_id)

    async def close(self) -> None:
        for store in self._sessions:
            await store.close()


class Proxy:
    """Between one client and the server, on a port of its own."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self.answers_pass = True
        self.accepts = True
        self.silent = 0
        """Connections to come that are taken and hear nothing."""

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        self.answers_pass = True
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self._closed = True
        await close_server(self._server)
        self.cut()
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
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        if self._closed:  # meanwhile
            writer.transport.abort()
            back.transport.abort()
            return
        self._writers |= {writer, back}
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._pass_on(source, sink, is_answer=sink is writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool) -> None:
        try:
            while chunk := await source.read(65536):
                if self.answers_pass or not is_answer:
                    sink.write(chunk)
                    await sink.drain()
        except OSError:
            return
        finally:
            sink.transport.abort()
            self._writers.discard(sink)


class ServerEnsemble:
    """Each under a root of its own on the one server that all tests share."""

    def __init__(self, server: EmbeddedZooKeeper) -> None:
        self._server = server
        self._root = f"/ensemble-{next(_NAMES)}"
        self._sessions: dict[Store, Proxy] = {}

    async def session(self, session_timeout: float = 4) -> KazooStore:
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

    def cut(self, store: Store) -> None:
        self._sessions[store].cut()

    def lose_answers(self, store: Store) -> None:
        self._sessions[store].answers_pass = False

    async def expire(self, store: Store) -> None:
        """Somebody else who knows the session's password closes it.

        Meanwhile the store has no connection: the two would take the session from each other.
        """
        client_id = store._client.client_id  # type: ignore[attr-defined]  # nobody else needs the password
        proxy = self._sessions[store]
        proxy.accepts = False
        proxy.cut()
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
