"""A fake cluster, and a server on loopback without tokens that may change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["audit", "orders"], partitions=2, racks={1: "east", 2: "west"}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(cluster: FakeCluster) -> Iterator[ServerProcess]:
    with ServerProcess(cluster.bootstrap, "--anonymous", "change", "--interval", "0.05") as server:
        yield server
