"""Fixtures: a shared server and the two ensembles of the store tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cluster.zookeeper.ensembles import Ensemble, MemoryEnsemble, ServerEnsemble

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """A server for tests that do not stop it."""
    with EmbeddedZooKeeper(force_sync=False) as server:
        yield server


@pytest.fixture(params=["memory", "server"])
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    """An ensemble in memory and one on a server."""
    if request.param == "memory":
        return MemoryEnsemble()
    return ServerEnsemble(request.getfixturevalue("server"))
