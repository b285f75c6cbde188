"""The folder of one node of a local cluster, and the process that runs in it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kwire._util.properties import format_properties, parse_properties
from kwire.errors import KwireError
from kwire_cluster.local.cluster_file import NodeAddress

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping, Sequence

START_SECONDS = 60.0
"""Time for a node to join the cluster."""
END_OF_LOG = 4000
"""Maximum number of characters of a log in an error."""


class NodeFailed(KwireError):
    """A node did not start.

    Attributes:
        node_id: the id of the node.
        reason: the event.
        log: the end of its log.
    """

    def __init__(self, node_id: int, reason: str, log: str = "") -> None:
        super().__init__(node_id, reason, log)
        self.node_id = node_id
        self.reason = reason
        self.log = log

    def __str__(self) -> str:
        return f"node {self.node_id} {self.reason}" + (f"\n{self.log}" if self.log else "")


class NodeFolder:
    """The folder `node-<id>`: `server.properties`, `log`, and `ready.json` while the node runs."""

    def __init__(self, cluster_folder: Path, node_id: int) -> None:
        self.node_id = node_id
        self.path = cluster_folder / f"node-{node_id}"
        self.properties = self.path / "server.properties"
        self.ready_file = self.path / "ready.json"
        self.log = self.path / "log"

    def command(self, module: str = "kwire") -> Sequence[str]:
        """Return the command that runs the node. `module` is run instead of the `kwire` command."""
        return (sys.executable, "-m", module, "node", str(self.properties), "--ready-file", str(self.ready_file))

    def write_properties(self, properties: Mapping[str, str]) -> None:
        """Write `server.properties`, creating the folder if necessary."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.properties.write_text(format_properties(properties), encoding="ascii")

    def set_port(self, port: int) -> None:
        """Set the port in `server.properties`."""
        properties = parse_properties(self.properties.read_text(encoding="ascii"))
        self.write_properties(properties | {"listeners": f"ADMIN://127.0.0.1:{port}"})

    def remove_ready_file(self) -> None:
        """Remove the ready file of a node that was killed."""
        self.ready_file.unlink(missing_ok=True)

    def wait_ready(self, exit_status: Callable[[], int | None]) -> NodeAddress:
        """Wait until the node has joined the cluster, and return its address.

        Args:
            exit_status: returns the exit status of the process, None while it runs.

        Raises:
            NodeFailed: the process ended, or the node is not ready in time.
        """
        deadline = time.monotonic() + START_SECONDS
        while not self.ready_file.exists():
            status = exit_status()
            if status is not None:
                raise NodeFailed(self.node_id, f"ended with status {status}", self._end_of_log())
            if time.monotonic() > deadline:
                raise NodeFailed(self.node_id, f"was not ready within {START_SECONDS:g} s", self._end_of_log())
            time.sleep(0.02)
        return self._read_ready_file()

    def address(self) -> NodeAddress | None:
        """Return the address of this node, or None if it does not run or is not ready."""
        try:
            address = self._read_ready_file()
        except FileNotFoundError:
            return None
        return address if self.is_run_by(address.pid) else None

    def _read_ready_file(self) -> NodeAddress:
        ready = json.loads(self.ready_file.read_text(encoding="utf-8"))
        return NodeAddress(self.node_id, ready["host"], ready["port"], ready["pid"])

    def pid(self) -> int | None:
        """Return the id of the process that runs this node, or None if it does not run or is not ready."""
        address = self.address()
        return None if address is None else address.pid

    def is_run_by(self, pid: int) -> bool:
        """Return whether this process runs this node."""
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return os.fsencode(self.properties) in arguments

    def end_process(self, *signals: signal.Signals, timeout: float = 30.0) -> None:
        """Send signals to the process of this node, one after another, until it ends.

        Args:
            signals: the signals.
            timeout: seconds to wait after each signal.
        """
        for number in signals:
            pid = self.pid()
            if pid is None:
                return
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            deadline = time.monotonic() + timeout
            while self.is_run_by(pid) and time.monotonic() < deadline:
                time.sleep(0.05)

    def _end_of_log(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-END_OF_LOG:].strip()
