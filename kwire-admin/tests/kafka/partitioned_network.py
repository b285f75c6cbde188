"""Kafka clusters whose servers reach each other through proxies, so that a test can cut some of them off.

    with Partitioned44(3) as cluster:
        cluster.network.cut_off({3})    # from all other servers, in both directions
        cluster.network.heal()

Clients still reach every broker: the proxies serve the listeners between servers only. No privileges are needed. All
sources share a proxy, because a server publishes one address; the kernel knows which process opened a connection.
Traffic that is cut off disappears, as packets do: connections stay open, and bytes wait until `heal`.
"""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.free_ports import free_ports
from tests.real_kafka import Kafka39, Kafka44

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tests.real_kafka.java import JavaServer

ZOOKEEPER = 0
"""The number of ZooKeeper among the servers. Brokers have ids from 1."""
BETWEEN_BROKERS = "REPLICATION"
"""The listener between brokers."""
CHUNK = 1 << 16
"""Bytes that are forwarded at once. Chosen, not measured."""


class ProxiedNetwork:
    """The connections between some servers.

    Args:
        process_of: returns the process id of a server; None if it does not run.
        servers: the numbers of the servers that open connections.
    """

    def __init__(self, process_of: Callable[[int], int | None], servers: Collection[int]) -> None:
        self._process_of = process_of
        self._servers = servers
        self._changed = threading.Condition()
        self._cut_off: frozenset[int] = frozenset()
        self._reached: frozenset[int] = frozenset()
        self._listening: list[socket.socket] = []

    def proxy_of(self, server: int, port: int) -> int:
        """Start a proxy of a port of a server, and return the port of the proxy."""
        listening = socket.create_server(("127.0.0.1", 0))
        self._listening.append(listening)
        threading.Thread(target=self._serve, args=(listening, server, port), daemon=True).start()
        return int(listening.getsockname()[1])

    def cut_off(self, servers: Collection[int], *, except_from: Collection[int] = ()) -> None:
        """Cut servers off from all others, also from each other, in place of those before.

        Args:
            servers: the servers.
            except_from: the servers that all others still reach.
        """
        with self._changed:
            self._cut_off, self._reached = frozenset(servers), frozenset(except_from)
            self._changed.notify_all()

    def heal(self) -> None:
        """Deliver all traffic again, and what has waited."""
        self.cut_off(())

    def close(self) -> None:
        """Stop accepting connections."""
        for listening in self._listening:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _serve(self, listening: socket.socket, server: int, port: int) -> None:
        with suppress(OSError):  # closed
            while True:
                accepted, (_, source_port) = listening.accept()
                source = self._owner(source_port, listening.getsockname()[1])
                try:
                    forwarded = socket.create_connection(("127.0.0.1", port))
                except OSError:
                    accepted.close()  # the server does not run
                    continue
                for ends in ((accepted, forwarded), (forwarded, accepted)):
                    threading.Thread(target=self._forward, args=(*ends, {source, server}), daemon=True).start()

    def _owner(self, port: int, remote: int) -> int | None:
        """Return the server that opened the connection between two ports."""
        inodes = {
            f"socket:[{columns[9]}]"
            for table in ("tcp", "tcp6")
            for columns in map(str.split, Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:])
            if columns[1].endswith(f":{port:04X}") and columns[2].endswith(f":{remote:04X}")
        }
        for server in self._servers:
            process = self._process_of(server)
            with suppress(OSError):
                for descriptor in Path(f"/proc/{process}/fd").iterdir():
                    with suppress(OSError):  # closed meanwhile
                        if str(descriptor.readlink()) in inodes:
                            return server
        return None

    def _forward(self, source: socket.socket, target: socket.socket, ends: set[int | None]) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                with self._changed:
                    self._changed.wait_for(
                        lambda: len(ends) == 1 or bool(ends & self._reached) or not ends & self._cut_off
                    )
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Partitioned44(Kafka44):
    """A cluster of Kafka 4.4.0 whose brokers and controllers can be cut off.

    Args:
        log_dirs: further log directories by broker id. The metadata stays in the folder of the cluster.
    """

    def __init__(self, brokers: int, config: Mapping[str, str], log_dirs: Mapping[int, Path]) -> None:
        self.network = ProxiedNetwork(lambda server: self.brokers[server - 1].process_id, range(1, brokers + 1))
        self._proxies: dict[int, int] = {}
        self._log_dirs = log_dirs
        super().__init__(brokers, config)

    def controller_endpoint(self, id: int) -> str:
        """Return the address of the proxy of a controller."""
        if id not in self._proxies:
            self._proxies[id] = self.network.proxy_of(id, self._controller_ports[id - 1])
        return f"127.0.0.1:{self._proxies[id]}"

    def _server(self, id: int, name: str, folder: Path, configs: Mapping[str, str]) -> JavaServer:
        configs = _with_proxy(self.network, id, configs) | {
            "log.dirs": f"{folder}/data,{self._log_dirs[id]}",
            "metadata.log.dir": f"{folder}/data",
        }
        configs["advertised.listeners"] += f",CONTROLLER://{self.controller_endpoint(id)}"
        return super()._server(id, name, folder, configs)

    def stop(self) -> None:
        """Kill all servers, end the proxies, and remove the data."""
        super().stop()
        self.network.close()


class Partitioned39(Kafka39):
    """A cluster of Kafka 3.9.1 whose brokers can be cut off, from ZooKeeper as well.

    Args:
        log_dirs: further log directories by broker id.
    """

    def __init__(self, brokers: int, config: Mapping[str, str], log_dirs: Mapping[int, Path]) -> None:
        self.network = ProxiedNetwork(lambda server: self.brokers[server - 1].process_id, range(1, brokers + 1))
        self._log_dirs = log_dirs
        super().__init__(brokers, config)

    def _server(self, id: int, name: str, folder: Path, configs: Mapping[str, str]) -> JavaServer:
        zookeeper = self.network.proxy_of(ZOOKEEPER, self._zookeeper_port)
        configs = _with_proxy(self.network, id, configs) | {
            "log.dirs": f"{folder}/data,{self._log_dirs[id]}",
            "zookeeper.connect": f"127.0.0.1:{zookeeper}",
        }
        return super()._server(id, name, folder, configs)

    def pause_zookeeper(self) -> None:
        """Stop ZooKeeper, so that it accepts connections and answers nothing."""
        self._zookeeper.send_signal(signal.SIGSTOP)

    def resume_zookeeper(self) -> None:
        """Continue ZooKeeper."""
        self._zookeeper.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill all servers, end the proxies, and remove the data."""
        super().stop()
        self.network.close()


def _with_proxy(network: ProxiedNetwork, id: int, configs: Mapping[str, str]) -> dict[str, str]:
    """Return the configs of a broker with a listener for other brokers behind a proxy."""
    [port] = free_ports(1)
    advertised = configs.get("advertised.listeners", configs["listeners"])
    return {
        **configs,
        "listeners": f"{configs['listeners']},{BETWEEN_BROKERS}://127.0.0.1:{port}",
        "advertised.listeners": f"{advertised},{BETWEEN_BROKERS}://127.0.0.1:{network.proxy_of(id, port)}",
        "listener.security.protocol.map": f"{configs['listener.security.protocol.map']},{BETWEEN_BROKERS}:PLAINTEXT",
        "inter.broker.listener.name": BETWEEN_BROKERS,
    }
