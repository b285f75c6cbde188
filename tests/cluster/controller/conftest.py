"""A real ZooKeeper for the tests that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """One server for all of them; each test works below a root of its own."""
    with EmbeddedZooKeeper(force_sync=False) as server:
        yield server
