"""A real ZooKeeper for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """One server for all tests; each test uses a chroot of its own."""
    with EmbeddedZooKeeper(force_sync=False, tick=0.2) as server:
        yield server
