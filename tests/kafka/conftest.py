"""One real broker of each version for the tests of this folder: 3.9.1 with ZooKeeper, 4.4.0 with KRaft."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing.kafka import Cluster, Kafka39, Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def kafka39() -> Iterator[Kafka39]:
    with Kafka39() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka44() -> Iterator[Kafka44]:
    with Kafka44() as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["kafka39", "kafka44"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Cluster)
    return found
