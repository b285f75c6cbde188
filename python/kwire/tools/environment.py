"""Where a tool runs: the cluster and the files that it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kwire.client.admin import AdminClient
    from kwire.cluster.zookeeper import Store

__all__ = ["ANYWHERE", "Environment"]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a tool may use, unless its options name another cluster.

    Attributes:
        open_admin: opens a client of the cluster; None if there is none.
        open_zookeeper: opens a session with the ZooKeeper of the cluster; None if it is not known.
        folders: the folders that contain the files that the tool may use; None for all files.
    """

    open_admin: Callable[[], Awaitable[AdminClient]] | None = None
    open_zookeeper: Callable[[], Awaitable[Store]] | None = None
    folders: tuple[Path, ...] | None = None


ANYWHERE = Environment()
"""No cluster, unless options of the tool name one, and all files."""
