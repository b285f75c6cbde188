"""The process of a tool that a node runs: `python -m kwire_zookeeper_tools.process DESCRIPTOR`.

The node and this process share a socket, the descriptor; `kwire_cluster.node.tool_process` describes its messages. The
process has no credential of the node: it reaches the cluster through sockets that the node serves as the user who runs
the tool, and it gets the folders of tools and the address of ZooKeeper only if the user may alter the cluster.
"""

from __future__ import annotations

import array
import asyncio
import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.client.connection_config import ConnectionConfig
from kwire_admin.operations.declaration import Operation, ToolFailed
from kwire_zookeeper_tools.tool_run import Environment
from kwire_zookeeper_tools.tool_runner import FAILED, ToolRunResult, run_tool_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient
    from kwire.protocol.endpoint import Endpoint
    from kwire_cluster.zookeeper import Store

NEEDS_ALTER = "this needs the permission Alter on the cluster, because it {}"
OUTPUT = 1
"""The descriptor of the standard output, a pipe to the node."""
NICENESS = 5
"""Tools give way to the node, which answers other clients meanwhile. Chosen, not measured."""


class NodeChannel:
    """The socket between this process and the node."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._received = bytearray()
        self._asking = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._control.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> tuple[dict[str, Any], socket.socket | None]:
        """Return the next message, with the socket that the node has sent along."""
        descriptors = array.array("i")
        while b"\n" not in self._received:
            data, received, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            if not data:
                raise ConnectionResetError("the node has ended")
            descriptors.extend(received)
            self._received += data
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        message: dict[str, Any] = json.loads(line)
        return message, socket.socket(fileno=descriptors[0]) if descriptors else None

    async def connect(self, endpoint: Endpoint) -> socket.socket:
        """Return a connection to a node of the cluster, as the user who runs the tool.

        Raises:
            ConnectionRefusedError: the node does not know this broker.
        """
        return await asyncio.to_thread(self._connect, endpoint)

    def _connect(self, endpoint: Endpoint) -> socket.socket:
        with self._asking:
            self.send({"connect": [endpoint.host, endpoint.port]})
            message, connection = self.receive()
        if connection is None:
            raise ConnectionRefusedError(message["refused"])
        connection.setblocking(False)
        return connection


def environment_of(channel: NodeChannel, job: Mapping[str, Any]) -> Environment:
    """Return the environment of a tool on a node.

    Args:
        channel: opens the connections of the tool.
        job: the message that the node sends first.
    """

    async def open_admin() -> AdminClient:
        from kwire.client.admin import AdminClient

        config = ConnectionConfig(open_socket=channel.connect)
        return await AdminClient.open(job["bootstrap"], client_id=job["client_id"], config=config)

    async def open_zookeeper() -> Store:
        from kwire_cluster.zookeeper import connect

        if job["zookeeper"] is None:
            raise ToolFailed(NEEDS_ALTER.format("reads ZooKeeper"))
        return await connect(job["zookeeper"])

    return Environment(open_admin, open_zookeeper, tuple(map(Path, job["folders"])))


def main() -> None:
    """Run the tool that the node names."""
    os.nice(NICENESS)
    channel = NodeChannel(socket.socket(fileno=int(sys.argv[1])))
    job, _ = channel.receive()
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stderr.fileno())  # warnings of libraries are not output of the tool
    _limit_memory(job["memory_bytes"])
    result = asyncio.run(_run(channel, job))
    channel.send({"exit_status": result.exit_status, "error": result.error})
    os._exit(0)  # threads of the tool must not keep the process


def _limit_memory(size: int) -> None:
    """Limit the memory that this process may allocate, where the system can."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # macOS knows the limit, and refuses it
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


async def _run(channel: NodeChannel, job: Mapping[str, Any]) -> ToolRunResult:
    module, _, function = job["tool"].partition(":")
    name = function.strip("_").replace("_", "-")
    try:
        tool = getattr(import_module(module), function)
        assert isinstance(tool, Operation)
    except Exception as error:  # noqa: BLE001  # of the package that has the tool
        return ToolRunResult(FAILED, "", f"{name}: {type(error).__name__}: {error}")
    running = asyncio.ensure_future(run_tool_words(tool, job["arguments"], environment_of(channel, job), _write))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    channel.send({"started": True})
    try:
        return await running
    except asyncio.CancelledError:
        return ToolRunResult(FAILED, "", f"{name}: it was canceled")


def _write(text: str) -> None:
    """Write output. It blocks until the node reads, so the pipe is all that is kept in memory."""
    data = memoryview(text.encode("utf-8", errors="replace"))
    while data:
        data = data[os.write(OUTPUT, data) :]


if __name__ == "__main__":
    main()
