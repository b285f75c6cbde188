"""A local cluster: ZooKeeper and nodes as real processes, for tests, demos, and `kwire cluster up`.

A node that was killed or stopped is restarted at its previous port. All processes end when the process that started the
cluster ends. A folder belongs to one cluster at a time: it is locked before anything is written to it, until the last
of these processes has ended.

The folder contains `cluster.json` (the addresses), `zookeeper/`, and a `NodeFolder` for each node.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kwire._util.child_process import ChildProcess
from kwire._util.folder_lock import FolderLock
from kwire.client import BlockingConnection
from kwire.errors import KwireError
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault
from kwire_cluster.local.cluster_file import ClusterFile, NodeAddress
from kwire_cluster.local.node_folder import START_SECONDS, NodeFailed, NodeFolder
from kwire_cluster.zookeeper.embedded_server import DEFAULT_PARTITIONS, EmbeddedZooKeeper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from kwire.client import ConnectionConfig

__all__ = ["LocalCluster", "NodeAddress", "NodeFailed", "NodeStateError"]


class NodeStateError(KwireError):
    """The cluster does not have the node, or the node runs already, or does not run.

    Attributes:
        node_id: the id of the node.
        reason: the reason.
    """

    def __init__(self, node_id: int, reason: str) -> None:
        super().__init__(node_id, reason)
        self.node_id = node_id
        self.reason = reason

    def __str__(self) -> str:
        return f"node {self.node_id}: {self.reason}"


class LocalCluster:
    """A cluster of nodes with the ids 1 to `nodes`.

        with LocalCluster(nodes=3) as cluster:
            print(cluster.bootstrap)

    Args:
        nodes: the number of nodes.
        data: the folder of the cluster, which is kept; the default is a temporary folder.
        settings: settings of every node, with the names of `server.properties`.
        node_settings: settings of single nodes, by id; they override all others.
        racks: the rack of each node, by id.
        zookeeper: the `zookeeper.connect` of a running ZooKeeper; None starts one.
        session_timeout: seconds after which a killed node counts as dead.
        module: the module to run instead of the `kwire` command, for nodes with injected faults.
        config: the TLS and the login with which the cluster asks its nodes, if their listener requires them.

    Attributes:
        data: the folder of the cluster.
        node_ids: the ids of all nodes.
        zookeeper: the ZooKeeper of this cluster, which is not started if the cluster uses another one.
    """

    def __init__(
        self,
        nodes: int = 3,
        *,
        data: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
        node_settings: Mapping[int, Mapping[str, str]] | None = None,
        racks: Mapping[int, str] | None = None,
        zookeeper: str | None = None,
        session_timeout: float = 6.0,
        module: str = "kwire",
        config: ConnectionConfig | None = None,
    ) -> None:
        self._module = module
        self._config = config
        self._keeps_data = data is not None
        self.data = Path(tempfile.mkdtemp(prefix="kwire-cluster-") if data is None else data).resolve()
        self.node_ids = tuple(range(1, nodes + 1))
        self._settings = {"zookeeper.session.timeout.ms": str(round(session_timeout * 1000)), **(settings or {})}
        self._node_settings = dict(node_settings or {})
        self._racks = dict(racks or {})
        self.zookeeper = EmbeddedZooKeeper(
            self.data / "zookeeper",
            partitions=int(self._settings.get("admin.cluster.max.partitions", DEFAULT_PARTITIONS)),
            tick=min(0.5, session_timeout / 4),
        )
        self._other_zookeeper = zookeeper
        self._processes: dict[int, ChildProcess] = {}
        self._addresses: dict[int, NodeAddress] = {}
        self._lock: FolderLock | None = None
        self._previous: ClusterFile | None = None

    # Start and stop

    def lock(self) -> None:
        """Lock the folder and the folder of its ZooKeeper, which `start` does as well.

        Raises:
            FolderInUse: another cluster uses the folder, or another server the folder of ZooKeeper.
            OSError: the folder cannot be created.
        """
        if self._lock is None:
            self.data.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.data, timeout=START_SECONDS)
        if self._other_zookeeper is None:
            try:
                self.zookeeper.lock()
            except BaseException:
                self._unlock()
                raise

    def start(self) -> None:
        """Start ZooKeeper and all nodes, and wait until every node knows all others.

        If it fails, nothing is left running.

        Raises:
            FolderInUse: another cluster uses the folder.
            InvalidClusterFile: `cluster.json` is malformed.
            CannotStart: ZooKeeper did not start (`kwire_cluster.zookeeper.embedded_server`).
            NodeFailed: a node did not start.
        """
        self.lock()
        try:
            # Nodes of a killed cluster may still be running.
            self._end_other_processes(signal.SIGTERM, signal.SIGKILL)
            self._previous = ClusterFile.read(self.data)
            if self._other_zookeeper is None:
                self._start_zookeeper()
            for node_id in self.node_ids:
                self._start_process(node_id)
            for node_id in self.node_ids:
                self._wait_ready(node_id)
            for node_id in self.node_ids:
                wait_for_brokers(self._addresses[node_id], self.node_ids, self._config)
            self.write_cluster_file()
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """Stop the nodes one after another with a controlled shutdown, then ZooKeeper."""
        for process in self._processes.values():
            process.resume()
        for node_id in list(self._processes):
            self.stop_node(node_id)
        self._end_other_processes(signal.SIGTERM, signal.SIGKILL)
        self.zookeeper.stop()
        self._unlock()

    def close(self) -> None:
        """Kill all processes, and remove the folder unless it was given."""
        for node_id in list(self._processes):
            self.kill_node(node_id)
        self._end_other_processes(signal.SIGKILL)
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
        """The running nodes, by id."""
        return [self._addresses[node_id] for node_id in sorted(self._processes)]

    @property
    def zookeeper_connect(self) -> str:
        """The addresses of ZooKeeper, with its path if it has one."""
        return self._other_zookeeper or self.zookeeper.hosts

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, running or not, as `host:port,...`."""
        return ",".join(f"{address.host}:{address.port}" for _, address in sorted(self._addresses.items()))

    def node(self, node_id: int) -> NodeAddress:
        """Return a running node.

        Raises:
            NodeStateError: the node does not run.
        """
        self._process(node_id)
        return self._addresses[node_id]

    def start_node(self, node_id: int, environment: Mapping[str, str] | None = None) -> NodeAddress:
        """Restart a node at its previous port, and wait until it has joined the cluster.

        Raises:
            NodeStateError: the node runs already, or does not exist.
            NodeFailed: the node did not start.
        """
        if node_id not in self.node_ids:
            raise NodeStateError(node_id, f"this cluster has the nodes {', '.join(map(str, self.node_ids))}")
        if node_id in self._processes:
            raise NodeStateError(node_id, f"already running, process {self._processes[node_id].pid}")
        self._start_process(node_id, environment)
        address = self._wait_ready(node_id)
        wait_for_brokers(address, (node_id,), self._config)
        self.write_cluster_file()
        return address

    def stop_node(self, node_id: int, timeout: float = 60.0) -> int:
        """Stop a node with SIGTERM, and return its exit status: 0 after a controlled shutdown."""
        status = self._process(node_id).stop(timeout)
        self._forget(node_id)
        return status

    def kill_node(self, node_id: int) -> None:
        """Kill a node with SIGKILL."""
        self._process(node_id).kill()
        self._forget(node_id)

    def pause_node(self, node_id: int) -> None:
        """Suspend a node with SIGSTOP: its connections stay open, but it does not respond."""
        self._process(node_id).pause()

    def resume_node(self, node_id: int) -> None:
        """Resume a suspended node with SIGCONT."""
        self._process(node_id).resume()

    def wait_ended(self, node_id: int, timeout: float = 30.0) -> int:
        """Wait until a node ends by itself, and return its exit status.

        Raises:
            subprocess.TimeoutExpired: the node still runs.
        """
        status = self._process(node_id).wait(timeout)
        self._forget(node_id)
        return status

    def poll_ended(self) -> list[tuple[int, int]]:
        """Return id and exit status of the nodes that have ended by themselves since the last call."""
        ended = [
            (node_id, process.wait()) for node_id, process in self._processes.items() if process.returncode is not None
        ]
        for node_id, _ in ended:
            self._forget(node_id)
        return ended

    def poll_restarted(self) -> list[NodeAddress]:
        """Return the nodes that `kwire cluster start-node` has started since the last call."""
        restarted = []
        for node_id in self.node_ids:
            if node_id in self._processes:
                continue
            address = self.folder(node_id).address()
            if address is not None and address != self._addresses.get(node_id):
                self._addresses[node_id] = address
                restarted.append(address)
        return restarted

    def log(self, node_id: int) -> str:
        """Return the log of a node, JSON lines."""
        return self.folder(node_id).log.read_text(encoding="utf-8", errors="replace")

    def folder(self, node_id: int) -> NodeFolder:
        """Return the folder of a node."""
        return NodeFolder(self.data, node_id)

    def addresses(self) -> dict[str, object]:
        """Return the content of the ready file of `kwire cluster up`."""
        nodes = [address._asdict() for _, address in sorted(self._addresses.items())]
        return {"zookeeper": self.zookeeper_connect, "nodes": nodes, "pid": os.getpid()}

    # Processes

    def _process(self, node_id: int) -> ChildProcess:
        try:
            return self._processes[node_id]
        except KeyError:
            raise NodeStateError(node_id, "not running") from None

    def _start_zookeeper(self) -> None:
        """Start ZooKeeper, at its previous port if that is free."""
        if not self.zookeeper.port and self._previous is not None:
            host, _, port = self._previous.zookeeper.rpartition(":")
            if port.isdecimal() and is_free(Endpoint(host, int(port))):
                self.zookeeper.port = int(port)
        self.zookeeper.start()

    def _start_process(self, node_id: int, environment: Mapping[str, str] | None = None) -> None:
        folder = self.folder(node_id)
        folder.write_properties(self._properties(node_id))
        folder.remove_ready_file()
        self._processes[node_id] = ChildProcess(
            folder.command(self._module),
            folder.log,
            {**os.environ, **(environment or {})},
            descriptors=() if self._lock is None else (self._lock.descriptor,),
        )

    def _properties(self, node_id: int) -> dict[str, str]:
        properties = {
            "broker.id": str(node_id),
            "zookeeper.connect": self.zookeeper_connect,
            "listeners": f"ADMIN://127.0.0.1:{self._previous_port(node_id)}",
            "log.file": str(self.folder(node_id).log),
        }
        if node_id in self._racks:
            properties["broker.rack"] = self._racks[node_id]
        return properties | self._settings | dict(self._node_settings.get(node_id, {}))

    def _previous_port(self, node_id: int) -> int:
        """Return the port that the node had before, in this or an earlier run; 0 for a free port."""
        previous = self._addresses.get(node_id)
        if previous is None and self._previous is not None:
            previous = self._previous.node(node_id)
        return 0 if previous is None else previous.port

    def _wait_ready(self, node_id: int) -> NodeAddress:
        process = self._processes[node_id]
        address = self.folder(node_id).wait_ready(lambda: process.returncode)
        self._addresses[node_id] = address
        return address

    def _forget(self, node_id: int) -> None:
        self._processes.pop(node_id, None)
        self.folder(node_id).remove_ready_file()

    def _end_other_processes(self, *signals: signal.Signals) -> None:
        """End nodes of this folder that are not our child processes: `kwire cluster start-node` started them.

        Without the lock they may belong to another cluster, so nothing is done.
        """
        if self._lock is None:
            return
        for path in self.data.glob("node-*"):
            node_id = path.name.removeprefix("node-")
            if node_id.isdigit() and int(node_id) not in self._processes:
                folder = self.folder(int(node_id))
                folder.end_process(*signals)
                folder.remove_ready_file()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def write_cluster_file(self) -> None:
        """Write the addresses and process ids of all nodes for other processes."""
        addresses = tuple(address for _, address in sorted(self._addresses.items()))
        ClusterFile(self.zookeeper_connect, addresses, os.getpid()).write(self.data)


def wait_for_brokers(node: NodeAddress, broker_ids: Sequence[int], config: ConnectionConfig | None = None) -> None:
    """Wait until a node knows these brokers and a live controller.

    Args:
        node: the node.
        broker_ids: the ids of the brokers.
        config: TLS and login for a secured listener.

    Raises:
        NodeFailed: it does not know them in time.
    """
    deadline = time.monotonic() + START_SECONDS
    known: list[int] = []
    while time.monotonic() < deadline:
        with suppress(OSError, ConnectionFault):
            response = request_cluster_metadata(node, config)
            known = [broker.node_id for broker in response.brokers]
            if response.controller is not None and set(broker_ids) <= set(known):
                return
        time.sleep(0.02)
    expected = ", ".join(map(str, broker_ids))
    raise NodeFailed(node.id, f"does not know the brokers {expected} after {START_SECONDS:g} s, only {known}")


def request_cluster_metadata(node: NodeAddress, config: ConnectionConfig | None = None) -> ClusterMetadataResponse:
    """Send ClusterMetadata to a node.

    Raises:
        OSError, ConnectionFault: the node does not respond.
    """
    endpoint = Endpoint(node.host, node.port)
    with BlockingConnection(endpoint, client_id="kwire-cluster", timeout=5, config=config) as connection:
        return connection.send(ClusterMetadataRequest())


def is_free(address: Endpoint) -> bool:
    """Return whether a server can listen on this address."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do, because of connections in TIME_WAIT
        try:
            probe.bind(address)
        except OSError:
            return False
    return True
