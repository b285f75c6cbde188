"""A ZooKeeper ensemble of three real servers, partitions between nodes and ZooKeeper, and power losses of a server."""

from __future__ import annotations

import selectors
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self

from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.eventually import eventually_sync
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 3


class ZooKeeperEnsemble:
    """Three servers that elect a leader among themselves."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(3 * SIZE)
        members = {
            f"server.{number}": f"127.0.0.1:{ports[SIZE + number]}:{ports[2 * SIZE + number]}" for number in range(SIZE)
        }
        self.servers = []
        for number in range(SIZE):
            data = folder / f"zookeeper-{number}"
            (data / "data").mkdir(parents=True)
            (data / "data" / "myid").write_text(str(number), encoding="ascii")
            settings = {"initLimit": "120", "syncLimit": "20", **members}
            self.servers.append(EmbeddedZooKeeper(data, port=ports[number], tick=0.25, settings=settings))

    @property
    def hosts(self) -> str:
        """The addresses of all servers."""
        return ",".join(server.hosts for server in self.servers)

    def leader(self) -> EmbeddedZooKeeper:
        """Wait until a server is the leader, and return it."""
        leader = eventually_sync(self._find_leader, "a server is the leader")
        assert leader is not None
        return leader

    def _find_leader(self) -> EmbeddedZooKeeper | None:
        for server in self.servers:
            with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=2) as connection:
                connection.sendall(b"srvr")
                if b"Mode: leader" in b"".join(iter(partial(connection.recv, 4096), b"")):
                    return server
        return None

    def __enter__(self) -> Self:
        with ThreadPoolExecutor() as pool:  # a server starts only with another one
            list(pool.map(lambda server: server.start(60), self.servers))
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.kill()


class ResponseStream:
    """The responses of ZooKeeper on one connection."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_connected = False

    def feed(self, data: bytes) -> int:
        """Return the highest transaction id in the responses that end in these bytes, 0 without any."""
        self._rest += data
        highest = 0
        while len(self._rest) >= 4 and len(self._rest) >= (end := 4 + int.from_bytes(self._rest[:4], "big")):
            if self._is_connected:  # the first response has another layout
                highest = max(highest, int.from_bytes(self._rest[8:16], "big", signed=True))
            self._is_connected = True
            self._rest = self._rest[end:]
        return highest


def lose_power(server: EmbeddedZooKeeper, last_zxid: int) -> int:
    """Kill a server, and cut its files after the last transaction that a client can have seen.

    This is the worst that a power loss may do to files that were written with fsync before each response.

    Returns:
        The number of transactions that were cut off.
    """
    server.kill()
    lost = 0
    folder = server.data / "data" / "version-2"
    for file in folder.glob("snapshot.*"):
        if int(file.suffix[1:], 16) > last_zxid:
            file.unlink()
    for file in folder.glob("log.*"):
        data = bytearray(file.read_bytes())
        position = 16  # after magic, version, and database id
        cut = None
        while position + 12 <= len(data) and (length := int.from_bytes(data[position + 8 : position + 12], "big")):
            zxid = int.from_bytes(data[position + 24 : position + 32], "big")  # after session id and cxid
            if zxid > last_zxid:
                cut = position if cut is None else cut
                lost += 1
            position += 12 + length + 1
        if cut is not None:
            data[cut:] = bytes(len(data) - cut)
            file.write_bytes(data)
    return lost


class PartitioningProxy:
    """A proxy with connections that can go silent: nothing is forwarded or closed, as if packets were lost.

    Args:
        port: the port of the server on this machine.
        counts_transactions: true if the server is ZooKeeper, so that `last_zxid` can be read from its responses.

    Attributes:
        last_zxid: the highest transaction id in a response to any client. ZooKeeper responds only after fsync.
    """

    def __init__(self, port: int, *, counts_transactions: bool = True) -> None:
        self._target = port
        self._counts_transactions = counts_transactions
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._responses: dict[socket.socket, ResponseStream] = {}
        """By socket of the server."""
        self.last_zxid = 0
        self._silent = threading.Event()
        self._is_quiet = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def hosts(self) -> str:
        """The address of the proxy."""
        return f"127.0.0.1:{self._listening.getsockname()[1]}"

    def partition(self) -> None:
        """Lose everything from now on. When this returns, nothing is being forwarded."""
        self._is_quiet.clear()
        self._silent.set()
        self._is_quiet.wait(30)

    def heal(self) -> None:
        """Forward again; connections from the time before are broken."""
        self._silent.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()
        for connection in (self._listening, *self._peers):
            connection.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            was_silent = False
            while self._silent.is_set() and not self._closing.is_set():
                was_silent = True
                self._is_quiet.set()
                self._closing.wait(0.02)
            if was_silent:
                for connection in list(self._peers):
                    self._drop(connection)
            for key, _ in self._selector.select(0.02):
                if not self._silent.is_set():
                    self._serve(key.fileobj)

    def _serve(self, ready: object) -> None:
        if ready is self._listening:
            client, _ = self._listening.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                return
            for one, other in ((client, server), (server, client)):
                self._peers[one] = other
                self._selector.register(one, selectors.EVENT_READ)
            if self._counts_transactions:
                self._responses[server] = ResponseStream()
            return
        assert isinstance(ready, socket.socket)
        if ready not in self._peers:  # dropped in this round
            return
        try:
            data = ready.recv(65536)
            if ready in self._responses:  # counted before a client can see it
                self.last_zxid = max(self.last_zxid, self._responses[ready].feed(data))
            self._peers[ready].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._drop(ready)

    def _drop(self, connection: socket.socket) -> None:
        for one in (connection, self._peers.get(connection)):
            if one is not None and self._peers.pop(one, None) is not None:
                self._selector.unregister(one)
                self._responses.pop(one, None)
                one.close()
