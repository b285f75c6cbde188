"""`cluster.json`: the addresses of a local cluster, for other processes that use its folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kwire._util.ready_file import write_atomically
from kwire.errors import KwireError
from kwire_cluster.config.value_types import ENSEMBLE

if TYPE_CHECKING:
    from pathlib import Path


class NodeAddress(NamedTuple):
    """The id, address, and process id of a node."""

    id: int
    host: str
    port: int
    pid: int


class InvalidClusterFile(KwireError):
    """A `cluster.json` that cannot be read.

    Attributes:
        file: the file.
        reason: the problem.
    """

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(file, reason)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.file} cannot be read ({self.reason}): remove it, and `kwire cluster up` selects new ports"


class ClusterFile(NamedTuple):
    """The content of `cluster.json`. It stays when the cluster stops, so that the next start uses the same ports."""

    zookeeper: str
    """The `zookeeper.connect` of the nodes."""
    nodes: tuple[NodeAddress, ...]
    pid: int
    """The process that started the cluster; all other processes end with it."""

    def node(self, node_id: int) -> NodeAddress | None:
        """Return a node, or None if the cluster does not have it."""
        return next((node for node in self.nodes if node.id == node_id), None)

    @classmethod
    def read(cls, folder: Path) -> ClusterFile | None:
        """Read the file of a cluster folder, or return None if there is none.

        Raises:
            InvalidClusterFile: the file is malformed.
        """
        file = _file(folder)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            nodes = tuple(
                NodeAddress(int(node["id"]), str(node["host"]), int(node["port"]), int(node["pid"]))
                for node in content["nodes"]
            )
            return cls(ENSEMBLE.parse(content["zookeeper"]), nodes, int(content["pid"]))
        except FileNotFoundError:
            return None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InvalidClusterFile(file, f"{type(error).__name__}: {error}") from None

    def write(self, folder: Path) -> None:
        """Write the file of a cluster folder."""
        nodes = [node._asdict() for node in self.nodes]
        write_atomically(_file(folder), {"zookeeper": self.zookeeper, "nodes": nodes, "pid": self.pid})


def _file(folder: Path) -> Path:
    return folder / "cluster.json"
