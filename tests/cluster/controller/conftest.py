"""A ZooKeeper server for the tests that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """A server that all tests share; each test has its own chroot."""
    with EmbeddedZooKeeper(force_sync=False) as server:
        yield server
