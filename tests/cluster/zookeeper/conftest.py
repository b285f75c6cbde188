"""A server for all tests of this folder, and the two ensembles that a test of the store runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cluster.zookeeper.ensembles import Ensemble, MemoryEnsemble, ServerEnsemble

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """One that nobody stops; what is not synced to the disk survives all but a failing machine."""
    with EmbeddedZooKeeper(force_sync=False) as server:
        yield server


@pytest.fixture(params=["memory", "server"])
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    """Of either kind."""
    if request.param == "memory":
        return MemoryEnsemble()
    return ServerEnsemble(request.getfixturevalue("server"))
