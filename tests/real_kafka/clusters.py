"""Clusters of real brokers, with ZooKeeper for Kafka 3.9.

A broker keeps its ports and folder, so it can be killed and started again. Its configs are the smallest that work on
one machine, plus settings of the caller. A cluster is ready when every broker lists all brokers. With a
`ClusterSecurity` its listeners require TLS or SASL, and the probe uses them too.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar
from uuid import uuid4

from kwire._util.properties import format_properties
from kwire.client import Connection, ConnectionConfig
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol.scram_passwords import MIN_ITERATIONS, salted_password
from kwire.uuids import uuid_to_text
from tests.free_ports import free_ports
from tests.real_kafka.errors import StartFailed
from tests.real_kafka.jars import jars
from tests.real_kafka.java import START_SECONDS, JavaServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire._util.secret import Secret
    from kwire.declare import Message, Request
    from tests.real_kafka.security import ClusterSecurity

R = TypeVar("R", bound="Message")

BROKER_HEAP = 256
ZOOKEEPER_HEAP = 96
"""Megabytes."""

_SMALL_BROKER = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.index.size.max.bytes": "65536",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
}

_ALREADY_REGISTERED = "KeeperErrorCode = NodeExists"


class KafkaBroker:
    """One broker.

    Attributes:
        id: the broker id.
        ports: its port on 127.0.0.1 of each listener, the main one first.
    """

    def __init__(
        self,
        id: int,
        ports: Mapping[str, int],
        server: JavaServer,
        started_line: str,
        config: ConnectionConfig | None,
    ) -> None:
        self.id = id
        self.ports = ports
        self._config = config
        self._server = server
        self._started_line = started_line

    @property
    def port(self) -> int:
        """The port of the main listener."""
        return next(iter(self.ports.values()))

    @property
    def endpoint(self) -> str:
        """The address of the main listener, `host:port`."""
        return f"127.0.0.1:{self.port}"

    @property
    def process_id(self) -> int | None:
        """The process id; None if the broker is not running."""
        return self._server.process_id

    def start(self) -> None:
        """Start the broker and wait until it is ready.

        After `kill` the broker's registration stays in ZooKeeper until its session expires
        (`zookeeper.session.timeout.ms`, 18 seconds by default), and the broker exits at startup until then. It is
        started again, as a supervisor would do.

        Raises:
            StartFailed: the broker exited, or it was not ready in time.
        """
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.launch()
            try:
                self.wait_until_started()
            except StartFailed as failure:
                if _ALREADY_REGISTERED not in failure.output or time.monotonic() > deadline:
                    raise
            else:
                return

    def launch(self) -> None:
        """Start the process without waiting until it is ready."""
        self._server.start()

    def wait_until_started(self) -> None:
        """Wait until the broker logs that it has started.

        Raises:
            StartFailed: the broker exited, or it was not ready in time.
        """
        self._server.wait_until(lambda: self._server.has_logged(self._started_line))

    def wait_until_metadata_lists(self, brokers: int) -> None:
        """Wait until the broker's metadata lists that many brokers and a controller.

        Raises:
            StartFailed: the broker exited, or it took too long.
        """
        self._server.wait_until(lambda: self._lists(brokers))

    def _lists(self, brokers: int) -> bool:
        try:
            metadata = self.send(MetadataRequest(topics=()), version=5)
        except OSError:
            return False
        return len(metadata.brokers) == brokers and metadata.controller_id >= 0

    def send(self, request: Request[R], *, version: int | None = None) -> R:
        """Send a request to the main listener, as a super user if it is secured, and return the response.

        Raises:
            ConnectionFault: the broker does not respond.
        """

        async def exchange() -> R:
            connection = await Connection.open(self.endpoint, config=self._config, timeout=5, client_id=None)
            async with connection:
                return await connection.send(request, version=version)

        with ThreadPoolExecutor(1) as thread:  # the caller may be in an event loop
            return thread.submit(lambda: asyncio.run(exchange())).result()

    def stop(self) -> None:
        """Shut the broker down in an orderly way, which moves its leaders first."""
        self._server.stop()

    def kill(self) -> None:
        """Send SIGKILL. The cluster notices when the broker's session expires."""
        self._server.kill()

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to the process, such as `signal.SIGSTOP`."""
        self._server.send_signal(signal_number)

    def output_tail(self) -> str:
        """Return the end of the broker's log and output."""
        return self._server.output_tail()


class KafkaCluster:
    """A cluster of real brokers with ids from 1. Use it as a context manager, or call `start` and `stop`.

    Args:
        brokers: the number of brokers.
        config: configs of every broker, in addition to the defaults of this class.
        security: TLS, SASL, and an authorizer on all listeners; None for one plaintext listener.

    Attributes:
        version: the version of Kafka.
        brokers: the brokers.
        folder: the temporary folder with their data and logs.

    Raises:
        MissingTools: Java or Maven is not installed.
        JarDownloadFailed: Maven could not download Kafka.
    """

    version: ClassVar[str]
    authorizer: ClassVar[str]

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, str] | None = None,
        *,
        security: ClusterSecurity | None = None,
    ) -> None:
        self.security = security
        self._temporary = tempfile.TemporaryDirectory(prefix="kwire-kafka-")
        self.folder = Path(self._temporary.name)
        self._config = dict(config or {})
        self.brokers: tuple[KafkaBroker, ...] = self._create_brokers(brokers)

    def _create_brokers(self, brokers: int) -> tuple[KafkaBroker, ...]:
        raise NotImplementedError

    def _server(self, id: int, name: str, folder: Path, configs: Mapping[str, str]) -> JavaServer:
        """Return the server of a broker, with its configs in a file."""
        folder.mkdir()
        properties = folder / "server.properties"
        lines = _SMALL_BROKER | {"log.dirs": f"{folder}/data"} | dict(configs) | self._config
        properties.touch(mode=0o600)
        properties.write_text(format_properties(lines), encoding="ascii")
        main = ("kafka.Kafka", str(properties))
        return JavaServer(f"broker {id} ({self.version})", folder, jars(name), main, heap=BROKER_HEAP)

    @property
    def _listeners(self) -> tuple[str, ...]:
        """The names of the listeners of clients, the main one first."""
        if self.security is None:
            return ("PLAINTEXT",)
        from tests.real_kafka.security import LISTENERS

        return (*LISTENERS, *self.security.listeners)

    def _protocol_map(self) -> str:
        further = {} if self.security is None else self.security.listeners
        return ",".join(f"{name}:{'SSL' if name in further else name}" for name in self._listeners)

    def _free_ports(self, brokers: int, others: int) -> tuple[list[dict[str, int]], list[int]]:
        """Return free ports: by listener for each broker, and of other servers."""
        names = self._listeners
        ports = free_ports(brokers * len(names) + others)
        of_brokers = [dict(zip(names, ports[at * len(names) :], strict=False)) for at in range(brokers)]
        return of_brokers, ports[brokers * len(names) :]

    def _create_broker(self, id: int, ports: Mapping[str, int], server: JavaServer, started_line: str) -> KafkaBroker:
        config = None if self.security is None else self.security.config("PLAIN")
        return KafkaBroker(id, ports, server, started_line, config)

    def _security_configs(self, *listeners: str) -> dict[str, str]:
        """Return the configs of secured listeners, of clients and further ones."""
        if self.security is None:
            return {}
        with_sasl = tuple(name for name in self._listeners if name.startswith("SASL"))
        return self.security.broker_properties((*with_sasl, *listeners)) | {"authorizer.class.name": self.authorizer}

    def listener(self, name: str) -> str:
        """Return the addresses of a listener on all brokers, separated by commas."""
        return ",".join(f"127.0.0.1:{broker.ports[name]}" for broker in self.brokers)

    def add_scram_users(self, users: Mapping[str, Secret]) -> None:
        """Create or change users for both SCRAM mechanisms."""
        for mechanism, name in ((1, "SCRAM-SHA-256"), (2, "SCRAM-SHA-512")):  # a request may name a user once
            upsertions = [_scram_credential(user, password, mechanism, name) for user, password in users.items()]
            request = AlterUserScramCredentialsRequest(deletions=(), upsertions=tuple(upsertions))
            for result in self.brokers[0].send(request).results:
                if result.error_code:
                    reason = f"{result.user}: {result.error_message}"
                    raise StartFailed("the creation of SCRAM users", None, reason)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, separated by commas."""
        return ",".join(broker.endpoint for broker in self.brokers)

    def start(self) -> None:
        """Start all brokers and wait until each one lists all of them.

        Raises:
            StartFailed: a server did not start; all others are stopped.
        """
        try:
            self._start_dependencies()
            for broker in self.brokers:
                broker.launch()
            for broker in self.brokers:
                broker.wait_until_started()
            for broker in self.brokers:
                broker.wait_until_metadata_lists(len(self.brokers))
            if self.security is not None:
                self.add_scram_users(self.security.users)
        except BaseException:
            self.stop()
            raise

    def _start_dependencies(self) -> None:
        """Start what brokers depend on."""

    def stop(self) -> None:
        """Kill all servers and remove their data."""
        for broker in self.brokers:
            broker.kill()
        self._stop_dependencies()
        self._temporary.cleanup()

    def _stop_dependencies(self) -> None:
        """Stop what brokers depend on."""


class Kafka39(KafkaCluster):
    """A cluster of Kafka 3.9.1 with ZooKeeper; 3.9 is the last release line that supports it.

    Attributes:
        zookeeper: the address of ZooKeeper, `host:port`.
    """

    version = "3.9.1"
    authorizer = "kafka.security.authorizer.AclAuthorizer"

    def _create_brokers(self, brokers: int) -> tuple[KafkaBroker, ...]:
        ports, (zookeeper_port,) = self._free_ports(brokers, 1)
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

    def _broker(self, id: int, ports: Mapping[str, int]) -> KafkaBroker:
        configs = self._security_configs() | {
            "broker.id": str(id),
            "listeners": _addresses(ports),
            "listener.security.protocol.map": self._protocol_map(),
            "zookeeper.connect": self.zookeeper,
        }
        server = self._server(id, "kafka39", self.folder / f"broker-{id}", configs)
        return self._create_broker(id, ports, server, "started (kafka.server.KafkaServer)")

    def _start_dependencies(self) -> None:
        self._zookeeper.start()
        self._zookeeper.wait_until(lambda: is_open(self._zookeeper_port))

    def _stop_dependencies(self) -> None:
        self._zookeeper.kill()


def _new_cluster_id() -> str:
    """Return a random id. One that begins with a dash would be an option of the tool that formats the storage."""
    return uuid_to_text(uuid4()).replace("-", "_")


class Kafka44(KafkaCluster):
    """A cluster of Kafka 4.4.0. Every node is a broker and a KRaft controller.

    Args:
        brokers: see `KafkaCluster`, as for `config` and `security`.
        dynamic_quorum: True if voters can be added and removed (KIP-853). The first node is the only voter then, and
            the others are observers. By default, all nodes are voters.
        cluster_id: the id of the cluster, 16 bytes in URL-safe base64; None for a new one. Journals and captures of
            clusters with one id would be one.

    Attributes:
        cluster_id: the id of the cluster.
    """

    version = "4.4.0"
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

    def __init__(
        self,
        brokers: int = 1,
        config: Mapping[str, str] | None = None,
        *,
        security: ClusterSecurity | None = None,
        dynamic_quorum: bool = False,
        cluster_id: str | None = None,
    ) -> None:
        self._dynamic_quorum = dynamic_quorum
        self.cluster_id = _new_cluster_id() if cluster_id is None else cluster_id
        super().__init__(brokers, config, security=security)

    def _create_brokers(self, brokers: int) -> tuple[KafkaBroker, ...]:
        ports, self._controller_ports = self._free_ports(brokers, brokers)
        self._servers: list[JavaServer] = []
        return tuple(self._broker(id, port) for id, port in enumerate(ports, 1))

    def controller_endpoint(self, id: int) -> str:
        """Return the address of the controller with a node id, `host:port`. Its listener is `CONTROLLER`."""
        return f"127.0.0.1:{self._controller_ports[id - 1]}"

    def _quorum_configs(self) -> dict[str, str]:
        endpoints = {id: self.controller_endpoint(id) for id in range(1, len(self._controller_ports) + 1)}
        if self._dynamic_quorum:
            return {"controller.quorum.bootstrap.servers": ",".join(endpoints.values())}
        return {"controller.quorum.voters": ",".join(f"{id}@{endpoint}" for id, endpoint in endpoints.items())}

    def _broker(self, id: int, ports: Mapping[str, int]) -> KafkaBroker:
        controller = "PLAINTEXT" if self.security is None else "SASL_SSL"
        configs = (
            self._security_configs("CONTROLLER")
            | self._quorum_configs()
            | {
                "process.roles": "broker,controller",
                "node.id": str(id),
                "listeners": _addresses({**ports, "CONTROLLER": self._controller_ports[id - 1]}),
                "advertised.listeners": _addresses(ports),
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": f"{self._protocol_map()},CONTROLLER:{controller}",
            }
        )
        if self.security is not None:
            configs["sasl.mechanism.controller.protocol"] = "PLAIN"
        server = self._server(id, "kafka44", self.folder / f"broker-{id}", configs)
        self._servers.append(server)
        return self._create_broker(id, ports, server, "Kafka Server started")

    def _start_dependencies(self) -> None:
        for server in self._servers:
            arguments = ["format", "-t", self.cluster_id, "-c", str(server.folder / "server.properties")]
            if self._dynamic_quorum:
                arguments.append("--standalone" if server is self._servers[0] else "--no-initial-controllers")
            format = server.command("kafka.tools.StorageTool", *arguments)
            run = subprocess.run(format, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise StartFailed(f"kafka-storage format for {server.name}", run.returncode, run.stdout + run.stderr)


def _scram_credential(user: str, password: Secret, mechanism: int, name: str) -> ScramCredentialUpsertion:
    salt = secrets.token_bytes(16)
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=MIN_ITERATIONS,
        salt=salt,
        salted_password=salted_password(name, password, salt, MIN_ITERATIONS),
    )


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


def is_open(port: int) -> bool:
    """Return whether a server listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
