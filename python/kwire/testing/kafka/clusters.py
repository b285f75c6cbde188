"""Clusters of real brokers, and ZooKeeper for those that need it.

Rules of this file: a broker's port and folder are its own for good, so that it can be killed and come back. Settings
are the smallest that work on one machine; ``config`` adds to them. A cluster is ready when every broker knows all.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from kwire import frame
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.testing.kafka.errors import StartFailed
from kwire.testing.kafka.jars import jars
from kwire.testing.kafka.java import START_SECONDS, JavaServer

if TYPE_CHECKING:
    from collections.abc import Mapping

BROKER_HEAP = 256
ZOOKEEPER_HEAP = 96
"""Megabytes."""

_ON_ONE_MACHINE = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.index.size.max.bytes": "65536",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
}


_HELD_FOR_ALIVE = "KeeperErrorCode = NodeExists"


class Broker:
    """One broker. ``id``: its node id; ``port``: of 127.0.0.1."""

    def __init__(self, id: int, port: int, server: JavaServer, started_line: str) -> None:
        self.id = id
        self.port = port
        self._server = server
        self._started_line = started_line

    @property
    def endpoint(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self.port}"

    @property
    def process_id(self) -> int | None:
        """None while it is down."""
        return self._server.process_id

    def start(self) -> None:
        """Start it, and wait until it answers. Raises StartFailed.

        ZooKeeper holds a killed broker for alive until its session ends (``zookeeper.session.timeout.ms``, 18 s unless
        configured), and so long the broker refuses to start: it is started again, as a supervisor would.
        """
        end = time.monotonic() + START_SECONDS
        while True:
            self.launch()
            try:
                self.wait_until_started()
            except StartFailed as failure:
                if _HELD_FOR_ALIVE not in failure.output or time.monotonic() > end:
                    raise
            else:
                return

    def launch(self) -> None:
        """Start it, and don't wait."""
        self._server.start()

    def wait_until_started(self) -> None:
        """Raises StartFailed."""
        self._server.wait_until(lambda: self._server.has_logged(self._started_line))

    def wait_until_metadata_lists(self, brokers: int) -> None:
        """Wait until its metadata lists so many brokers and a controller. Raises StartFailed."""
        self._server.wait_until(lambda: self._knows(brokers))

    def _knows(self, brokers: int) -> bool:
        try:
            metadata = self._metadata()
        except OSError:
            return False
        return len(metadata.brokers) == brokers and metadata.controller_id >= 0

    def _metadata(self) -> MetadataResponse:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(frame.encode_request(MetadataRequest(topics=()), version=5, correlation_id=1))
            splitter = frame.Splitter()
            while chunk := connection.recv(1 << 16):
                for payload in splitter.feed(chunk):
                    return frame.decode_response(payload, MetadataResponse, version=5).message
        raise ConnectionError(f"broker {self.id} closed the connection")

    def stop(self) -> None:
        """A controlled shutdown: leaders move away first."""
        self._server.stop()

    def kill(self) -> None:
        """The process is gone at once; the cluster finds out when the broker's session ends."""
        self._server.kill()

    def send_signal(self, signal_number: int) -> None:
        """Send its process a signal, such as ``signal.SIGSTOP``."""
        self._server.send_signal(signal_number)

    def output_tail(self) -> str:
        """The end of its log, for a person."""
        return self._server.output_tail()


class Cluster:
    """Brokers with ids from 1. Use it as a context manager, or call ``start`` and ``stop``.

    ``config``: settings of every broker, beside those it has anyway.
    """

    version: ClassVar[str]

    def __init__(self, brokers: int = 1, config: Mapping[str, str] | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="kwire-kafka-")
        self.folder = Path(self._temporary.name)
        self._config = dict(config or {})
        self.brokers: tuple[Broker, ...] = self._make(brokers)

    def _make(self, brokers: int) -> tuple[Broker, ...]:
        raise NotImplementedError

    def _server(self, id: int, name: str, folder: Path, settings: Mapping[str, str]) -> JavaServer:
        """A broker that has its own settings in a file of its folder."""
        folder.mkdir()
        properties = folder / "server.properties"
        lines = _ON_ONE_MACHINE | {"log.dirs": f"{folder}/data"} | dict(settings) | self._config
        properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        main = ("kafka.Kafka", str(properties))
        return JavaServer(f"broker {id} ({self.version})", folder, jars(name), main, heap=BROKER_HEAP)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """``host:port`` of every broker, with commas."""
        return ",".join(broker.endpoint for broker in self.brokers)

    def start(self) -> None:
        """Start all, and wait until every broker knows every other. Raises StartFailed, and then nothing runs."""
        try:
            self._before_brokers()
            for broker in self.brokers:
                broker.launch()
            for broker in self.brokers:
                broker.wait_until_started()
            for broker in self.brokers:
                broker.wait_until_metadata_lists(len(self.brokers))
        except BaseException:
            self.stop()
            raise

    def _before_brokers(self) -> None:
        """What must be there when a broker starts."""

    def stop(self) -> None:
        """End all at once, and remove their data: nobody waits for the controlled shutdown of what is thrown away."""
        for broker in self.brokers:
            broker.kill()
        self._after_brokers()
        self._temporary.cleanup()

    def _after_brokers(self) -> None:
        """What ends after the brokers."""


class Kafka39(Cluster):
    """Kafka 3.9.1, the last line that can keep its state in ZooKeeper, and does so here.

    ``zookeeper``: ``host:port``.
    """

    version = "3.9.1"

    def _make(self, brokers: int) -> tuple[Broker, ...]:
        zookeeper_port, *ports = free_ports(1 + brokers)
        self.zookeeper = f"127.0.0.1:{zookeeper_port}"
        self._zookeeper_port = zookeeper_port
        folder = self.folder / "zookeeper"
        folder.mkdir()
        properties = folder / "zoo.cfg"
        properties.write_text(
            f"dataDir={folder}/data\nclientPortAddress=127.0.0.1\nclientPort={zookeeper_port}\n"
            "tickTime=900\nmaxClientCnxns=0\nadmin.enableServer=false\n",
            encoding="utf-8",
        )
        main = ("org.apache.zookeeper.server.ZooKeeperServerMain", str(properties))
        self._zookeeper = JavaServer("ZooKeeper", folder, jars("kafka39"), main, heap=ZOOKEEPER_HEAP)
        return tuple(self._broker(id, port) for id, port in enumerate(ports, 1))

    def _broker(self, id: int, port: int) -> Broker:
        settings = {
            "broker.id": str(id),
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "zookeeper.connect": self.zookeeper,
        }
        server = self._server(id, "kafka39", self.folder / f"broker-{id}", settings)
        return Broker(id, port, server, "started (kafka.server.KafkaServer)")

    def _before_brokers(self) -> None:
        self._zookeeper.start()
        self._zookeeper.wait_until(lambda: is_open(self._zookeeper_port))

    def _after_brokers(self) -> None:
        self._zookeeper.kill()


class Kafka44(Cluster):
    """Kafka 4.4.0; every node is a broker and a KRaft controller."""

    version = "4.4.0"
    cluster_id = "a3dpcmUtdGVzdGluZy00NA"

    def _make(self, brokers: int) -> tuple[Broker, ...]:
        ports = free_ports(2 * brokers)
        self._controller_ports = ports[brokers:]
        voters = ",".join(f"{id}@127.0.0.1:{port}" for id, port in enumerate(self._controller_ports, 1))
        self._servers: list[JavaServer] = []
        return tuple(self._broker(id, port, voters) for id, port in enumerate(ports[:brokers], 1))

    def _broker(self, id: int, port: int, voters: str) -> Broker:
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(id),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{self._controller_ports[id - 1]}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": voters,
        }
        server = self._server(id, "kafka44", self.folder / f"broker-{id}", settings)
        self._servers.append(server)
        return Broker(id, port, server, "Kafka Server started")

    def _before_brokers(self) -> None:
        for server in self._servers:
            properties = str(server.folder / "server.properties")
            format = server.command("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", properties)
            run = subprocess.run(format, capture_output=True, text=True, check=False)  # noqa: S603  our own command
            if run.returncode != 0:
                raise StartFailed(f"formatting the folder of {server.name}", run.returncode, run.stdout + run.stderr)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listened on just now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def is_open(port: int) -> bool:
    """Whether somebody listens on that port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
