"""The two ensembles of the store tests."""

from __future__ import annotations

import pytest

from tests.cluster.zookeeper.ensembles import Ensemble, MemoryEnsemble, ServerEnsemble


@pytest.fixture(params=["memory", pytest.param("server", marks=pytest.mark.java)])
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    """An ensemble in memory and one on a server."""
    if request.param == "memory":
        return MemoryEnsemble()
    return ServerEnsemble(request.getfixturevalue("server"))
