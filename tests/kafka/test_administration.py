"""The administration commands on real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.messages.kafka.error_codes import ErrorCode
from tests.cli.administration import Operator, check_cluster, check_topics

if TYPE_CHECKING:
    from kwire.testing.kafka import Cluster


@pytest.fixture
def operator(cluster: Cluster) -> Operator:
    return Operator(cluster.bootstrap)


def test_topics(operator: Operator) -> None:
    check_topics(operator, ErrorCode.TOPIC_ALREADY_EXISTS)


def test_cluster(operator: Operator) -> None:
    check_cluster(operator, [1])


def test_dry_run_creates_nothing(operator: Operator) -> None:
    [row] = operator.json("topics", "create", "dry", "-p", "1", "-r", "1", "--dry-run")
    assert row["status"] == "would be created"
    assert operator.json("topics", "list", "dry") == []
