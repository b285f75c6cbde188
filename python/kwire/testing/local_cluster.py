"""``LocalCluster``: ZooKeeper and nodes as real processes on this machine, for tests, demos and ``kwire cluster up``.

Rules of this file: nodes are told apart by their ids and signalled by those of their processes. A node that was killed
or stopped comes back at its own port. All processes end when the one that made the cluster does. A folder has one
cluster at a time: it is locked before anything is written there, and until the last of these processes has ended.

The folder: ``cluster.json`` (where everything is), ``zookeeper/``, ``node-<id>/`` with ``server.properties``,
``ready.json`` while it runs, and ``log``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import kwire
from kwire import frame
from kwire.child_process import ChildProcess
from kwire.cluster.node.properties import format_properties
from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from kwire.errors import KwireError
from kwire.folder_lock import FolderLock
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.protocol.endpoint import Endpoint
from kwire.testing.cluster_file import ClusterFile, NodeAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

__all__ = ["LocalCluster", "NodeAddress", "NodeFailed", "UnknownNode"]

START_SECONDS = 60.0


class NodeFailed(KwireError):
    """A node did not start. ``node_id``; ``reason``; ``log``: what it printed last."""

    def __init__(self, node_id: int, reason: str, log: str) -> None:
        super().__init__(node_id, reason, log)
        self.node_id = node_id
        self.reason = reason
        self.log = log

    def __str__(self) -> str:
        return f"node {self.node_id} {self.reason}" + (f"\n{self.log}" if self.log else "")


class UnknownNode(KwireError):
    """The cluster has no such node, or it does not run (or does already). ``node_id``; ``reason``."""

    def __init__(self, node_id: int, reason: str) -> None:
        super().__init__(node_id, reason)
        self.node_id = node_id
        self.reason = reason

    def __str__(self) -> str:
        return f"node {self.node_id}: {self.reason}"


class LocalCluster:
    """A cluster of ``nodes`` nodes.

    ``data``: its folder, kept; without one, a folder is made and thrown away. ``settings``: of every node, by the names
    of ``server.properties``; ``racks``: by node. ``session_timeout``: seconds after which a dead node counts as dead.
    ``environment``: of every node's process, beside ours. ``module``: what is run as `kwire` for a node.

        with LocalCluster(nodes=3) as cluster:
            print(cluster.bootstrap)
    """

    def __init__(
        self,
        nodes: int = 3,
        *,
        data: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
        racks: Mapping[int, str] | None = None,
        session_timeout: float = 6.0,
        environment: Mapping[str, str] | None = None,
        module: str = "kwire",
    ) -> None:
        self._module = module
        self._keeps_data = data is not None
        self.data = Path(tempfile.mkdtemp(prefix="kwire-cluster-") if data is None else data).resolve()
        self.node_ids = tuple(range(1, nodes + 1))
        self._settings = {"zookeeper.session.timeout.ms": str(round(session_timeout * 1000)), **(settings or {})}
        self._racks = dict(racks or {})
        self._environment = dict(environment or {})
        self.zookeeper = EmbeddedZooKeeper(self.data / "zookeeper", tick=min(0.5, session_timeout / 4))
        self._processes: dict[int, ChildProcess] = {}
        self._addresses: dict[int, NodeAddress] = {}
        self._lock: FolderLock | None = None
        self._earlier: ClusterFile | None = None

    # Life

    def lock(self) -> None:
        """Have the folder, and nobody else, until the end; ``start`` does it too.

        Raises ``kwire.folder_lock.FolderInUse``, and OSError when there can be no such folder.
        """
        if self._lock is None:
            self.data.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.data, timeout=START_SECONDS)

    def start(self) -> None:
        """Start ZooKeeper, then all nodes at once, and wait until all are in the cluster.

        Raises what ``lock`` does, BrokenClusterFile, ``kwire.cluster.zookeeper.embedded_server.CannotStart`` and NodeFailed; nothing
        is left running then.
        """
        self.lock()
        try:
            self._end_foreign(signal.SIGTERM, signal.SIGKILL)  # of a cluster that was killed, and not ended yet
            self._earlier = ClusterFile.read(self.data)
            if not self.zookeeper.port and self._earlier is not None and is_free(self._earlier.zookeeper):
                self.zookeeper.port = self._earlier.zookeeper.port
            self.zookeeper.start()
            for node_id in self.node_ids:
                self._spawn(node_id)
            for node_id in self.node_ids:
                self._wait_ready(node_id)
            for node_id in self.node_ids:
                wait_agreed(self._addresses[node_id], self.node_ids)
            self._describe()
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """Stop all nodes one after the other, each in order, then ZooKeeper."""
        for process in self._processes.values():
            process.resume()
        for node_id in list(self._processes):
            self.stop_node(node_id)
        self._end_foreign(signal.SIGTERM, signal.SIGKILL)
        self.zookeeper.stop()
        self._unlock()

    def close(self) -> None:
        """End everything at once, and throw the folder away unless it was given."""
        for node_id in list(self._processes):
            self.kill_node(node_id)
        self._end_foreign(signal.SIGKILL)
        self.zookeeper.kill()
        self._unlock()
        if not self._keeps_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Nodes

    @property
    def nodes(self) -> list[NodeAddress]:
        """Those that run, by id."""
        return [self._addresses[node_id] for node_id in sorted(self._processes)]

    @property
    def bootstrap(self) -> str:
        """``host:port,...`` of all nodes, running or not: a client tries them all."""
        return ",".join(f"{address.host}:{address.port}" for _, address in sorted(self._addresses.items()))

    def node(self, node_id: int) -> NodeAddress:
        """Where a running node is. Raises UnknownNode."""
        self._process(node_id)
        return self._addresses[node_id]

    def start_node(self, node_id: int, environment: Mapping[str, str] | None = None) -> NodeAddress:
        """Bring a node back, at its own port, and wait until it is in the cluster. Raises NodeFailed, UnknownNode."""
        if node_id not in self.node_ids:
            raise UnknownNode(node_id, f"this cluster has the nodes {', '.join(map(str, self.node_ids))}")
        if node_id in self._processes:
            raise UnknownNode(node_id, f"it runs already, process {self._processes[node_id].pid}")
        self._spawn(node_id, environment)
        address = self._wait_ready(node_id)
        wait_agreed(address, (node_id,))
        self._describe()
        return address

    def stop_node(self, node_id: int, timeout: float = 60.0) -> int:
        """SIGTERM: it moves its leaders away and leaves. How it ended: 0 in order."""
        status = self._process(node_id).stop(timeout)
        self._ended(node_id)
        return status

    def kill_node(self, node_id: int) -> None:
        """SIGKILL."""
        self._process(node_id).kill()
        self._ended(node_id)

    def pause_node(self, node_id: int) -> None:
        """SIGSTOP: its connections stay open and nobody answers."""
        self._process(node_id).pause()

    def resume_node(self, node_id: int) -> None:
        """SIGCONT."""
        self._process(node_id).resume()

    def wait_ended(self, node_id: int, timeout: float = 30.0) -> int:
        """Until a node ends by itself; how it did. Raises subprocess.TimeoutExpired."""
        status = self._process(node_id).wait(timeout)
        self._ended(node_id)
        return status

    def ended(self) -> list[tuple[int, int]]:
        """The nodes that have ended by themselves since this was last asked, and how."""
        gone = [
            (node_id, process.wait()) for node_id, process in self._processes.items() if process.returncode is not None
        ]
        for node_id, _ in gone:
            self._ended(node_id)
        return gone

    def log(self, node_id: int) -> str:
        """All that a node has printed, JSON lines."""
        return (self._folder(node_id) / "log").read_text(encoding="utf-8", errors="replace")

    def facts(self) -> dict[str, object]:
        """Where everything is, as ``--ready-file`` has it."""
        return {"zookeeper": self.zookeeper.hosts, "nodes": [address._asdict() for address in self.nodes]}

    # Processes

    def _process(self, node_id: int) -> ChildProcess:
        try:
            return self._processes[node_id]
        except KeyError:
            raise UnknownNode(node_id, "it does not run") from None

    def _folder(self, node_id: int) -> Path:
        return self.data / f"node-{node_id}"

    def _spawn(self, node_id: int, environment: Mapping[str, str] | None = None) -> None:
        folder = self._folder(node_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ready.json").unlink(missing_ok=True)
        properties = folder / "server.properties"
        properties.write_text(format_properties(self._properties(node_id)), encoding="ascii")
        self._processes[node_id] = ChildProcess(
            node_command(folder, self._module),
            folder / "log",
            {**os.environ, **self._environment, **(environment or {})},
            descriptors=() if self._lock is None else (self._lock.descriptor,),
        )

    def _properties(self, node_id: int) -> dict[str, str]:
        port = self._addresses[node_id].port if node_id in self._addresses else self._earlier_port(node_id)
        values = {"broker.id": str(node_id), "zookeeper.connect": self.zookeeper.hosts}
        values["listeners"] = f"ADMIN://127.0.0.1:{port}"
        if node_id in self._racks:
            values["broker.rack"] = self._racks[node_id]
        return values | self._settings

    def _earlier_port(self, node_id: int) -> int:
        """Of an earlier run on the same folder; 0, a free one, when there was none."""
        earlier = None if self._earlier is None else self._earlier.node(node_id)
        return 0 if earlier is None else earlier.port

    def _wait_ready(self, node_id: int) -> NodeAddress:
        process = self._processes[node_id]
        address = wait_ready(node_id, self._folder(node_id), lambda: process.returncode, self._folder(node_id) / "log")
        self._addresses[node_id] = address
        return address

    def _ended(self, node_id: int) -> None:
        self._processes.pop(node_id, None)
        (self._folder(node_id) / "ready.json").unlink(missing_ok=True)

    def _end_foreign(self, *signals: signal.Signals) -> None:
        """Nodes of this folder that are not our children: ``kwire cluster start-node`` brought them back.

        Only in a folder that is ours, or they would be another cluster's.
        """
        if self._lock is None:
            return
        ours = {self._folder(node_id) for node_id in self._processes}
        for folder in set(self.data.glob("node-*")) - ours:
            end_node_of(folder, *signals)
            (folder / "ready.json").unlink(missing_ok=True)

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _describe(self) -> None:
        known = tuple(address for _, address in sorted(self._addresses.items()))
        ClusterFile(Endpoint.parse(self.zookeeper.hosts), known, os.getpid()).write(self.data)


def node_command(folder: Path, module: str = "kwire") -> Sequence[str]:
    """What runs the node of this folder."""
    return (
        sys.executable,
        "-m",
        module,
        "node",
        str(folder / "server.properties"),
        "--ready-file",
        str(folder / "ready.json"),
    )


def wait_ready(node_id: int, folder: Path, status: Callable[[], int | None], log: Path) -> NodeAddress:
    """Until the node is in its cluster. ``status()``: how its process ended, None while it runs. Raises NodeFailed."""
    ready = folder / "ready.json"
    deadline = time.monotonic() + START_SECONDS
    while not ready.exists():
        ended = status()
        if ended is not None:
            raise NodeFailed(node_id, f"ended with status {ended}", tail(log))
        if time.monotonic() > deadline:
            raise NodeFailed(node_id, f"was not ready within {START_SECONDS:g} s", tail(log))
        time.sleep(0.02)
    facts = json.loads(ready.read_text(encoding="utf-8"))
    return NodeAddress(node_id, facts["host"], facts["port"], facts["pid"])


def wait_agreed(node: NodeAddress, others: Sequence[int]) -> None:
    """Until the node knows these nodes, and a controller among the living. Raises NodeFailed."""
    deadline = time.monotonic() + START_SECONDS
    known: list[int] = []
    while time.monotonic() < deadline:
        with suppress(OSError):
            told = cluster_as_told(node)
            known = [broker.node_id for broker in told.brokers]
            if told.controller is not None and set(others) <= set(known):
                return
        time.sleep(0.02)
    raise NodeFailed(node.id, f"did not learn of the nodes {list(others)} within {START_SECONDS:g} s, only {known}", "")


def cluster_as_told(node: NodeAddress) -> ClusterMetadataResponse:
    """What a node answers to ClusterMetadata. Raises OSError."""
    request = ClusterMetadataRequest()
    with socket.create_connection((node.host, node.port), timeout=5) as connection:
        connection.sendall(frame.encode_request(request, version=0, correlation_id=1, client_id="kwire-cluster"))
        with connection.makefile("rb") as answers:
            size = int.from_bytes(answers.read(4), "big")
            payload = answers.read(size)
    if len(payload) < 4 or len(payload) != size:
        raise ConnectionResetError(f"node {node.id} closed the connection")
    return kwire.decode(ClusterMetadataResponse, payload[4:], version=0)


def tail(log: Path, characters: int = 4000) -> str:
    """The end of what was printed."""
    return log.read_text(encoding="utf-8", errors="replace")[-characters:].strip()


def end_node_of(folder: Path, *signals: signal.Signals, timeout: float = 30.0) -> None:
    """End the node of this folder, if it runs: by each signal in turn, after so many seconds by the next one."""
    for number in signals:
        pid = node_of(folder)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + timeout
        while is_node_of(pid, folder) and time.monotonic() < deadline:
            time.sleep(0.05)


def node_of(folder: Path) -> int | None:
    """The process that runs the node of this folder; None when it does not run, or is not ready yet."""
    try:
        pid = int(json.loads((folder / "ready.json").read_text(encoding="utf-8"))["pid"])
    except FileNotFoundError:
        return None
    return pid if is_node_of(pid, folder) else None


def is_node_of(pid: int, folder: Path) -> bool:
    """Whether this process runs the node of this folder."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.fsencode(folder / "server.properties") in words


def is_free(address: Endpoint) -> bool:
    """Whether a server could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: closed connections linger
        try:
            probe.bind(address)
        except OSError:
            return False
    return True
