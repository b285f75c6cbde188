"""One real broker of each version for the tests of this folder: 3.9.1 with ZooKeeper, 4.4.0 with KRaft.

A second broker of each version has secured listeners only, and sessions of `SESSION_SECONDS`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cli.administration import Operator
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster
from tests.real_kafka.certificates import CertificateAuthority
from tests.real_kafka.security import ClusterSecurity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION_SECONDS = 8.0
"""Clients authenticate again at the latest after 95% of it: on a busy machine, the rest must be long enough."""


@pytest.fixture(scope="session")
def kafka39() -> Iterator[Kafka39]:
    with Kafka39() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka44() -> Iterator[Kafka44]:
    with Kafka44() as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["kafka39", "kafka44"])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, KafkaCluster)
    return found


@pytest.fixture(scope="session")
def security() -> ClusterSecurity:
    """Return the users and certificates of the secured clusters."""
    authority = CertificateAuthority()
    return ClusterSecurity(
        authority=authority,
        listeners={
            "EXPIRED": authority.issue("broker", expires=timedelta(hours=-1)),
            "OTHER_HOST": authority.issue("broker", hosts=["broker-7.example.com"]),
        },
        reauthenticate_ms=round(SESSION_SECONDS * 1000),
    )


@pytest.fixture(scope="session")
def secured39(security: ClusterSecurity) -> Iterator[Kafka39]:
    with Kafka39(security=security) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def secured44(security: ClusterSecurity) -> Iterator[Kafka44]:
    with Kafka44(security=security) as cluster:
        yield cluster


@pytest.fixture(scope="session", params=["secured39", "secured44"])
def secured(request: pytest.FixtureRequest) -> KafkaCluster:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, KafkaCluster)
    return found


@pytest.fixture(params=["kafka39", "kafka44", "secured44"])
def administrator(request: pytest.FixtureRequest, security: ClusterSecurity, tmp_path: Path) -> Operator:
    """Return a user who may do everything: on each version, and on 4.4.0 over TLS with SCRAM."""
    cluster = request.getfixturevalue(request.param)
    assert isinstance(cluster, KafkaCluster)
    if request.param != "secured44":
        return Operator(cluster.bootstrap)
    return Operator(cluster.bootstrap, security.write_properties(tmp_path / "scram.properties", "SCRAM-SHA-512"))


@pytest.fixture
def secured_operator(secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path) -> Operator:
    """Return the super user of a secured cluster."""
    return Operator(secured.bootstrap, security.write_properties(tmp_path / "admin.properties", "PLAIN"))
