"""``cluster.json``: where a cluster of this machine is, or was when it ended, for those who come to its folder later.

Rules of this file: it is written whole, and read with suspicion, since it lies in somebody's folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import KwireError
from kwire.protocol.endpoint import Endpoint
from kwire.ready_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BrokenClusterFile", "ClusterFile", "NodeAddress"]


class NodeAddress(NamedTuple):
    """A node, where it listens, and its process."""

    id: int
    host: str
    port: int
    pid: int


class BrokenClusterFile(KwireError):
    """It does not say where a cluster is. ``file``; ``reason``."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file, reason)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file} cannot be read ({self.reason}): remove it, and `kwire cluster up` takes other ports"


class ClusterFile(NamedTuple):
    """``pid``: of the process that all others end with."""

    zookeeper: Endpoint
    nodes: tuple[NodeAddress, ...]
    pid: int

    def node(self, node_id: int) -> NodeAddress | None:
        """None when the cluster has no such node."""
        return next((node for node in self.nodes if node.id == node_id), None)

    @classmethod
    def read(cls, folder: Path) -> ClusterFile | None:
        """Of the cluster in this folder; None when there was none. Raises BrokenClusterFile."""
        file = _file(folder)
        try:
            facts = json.loads(file.read_text(encoding="utf-8"))
            nodes = tuple(
                NodeAddress(int(node["id"]), str(node["host"]), int(node["port"]), int(node["pid"]))
                for node in facts["nodes"]
            )
            return cls(Endpoint.parse(facts["zookeeper"]), nodes, int(facts["pid"]))
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise BrokenClusterFile(file, f"{type(error).__name__}: {error}") from None

    def write(self, folder: Path) -> None:
        nodes = [node._asdict() for node in self.nodes]
        write_atomically(_file(folder), {"zookeeper": str(self.zookeeper), "nodes": nodes, "pid": self.pid})


def _file(folder: Path) -> Path:
    return folder / "cluster.json"
