"""The administration commands on real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.messages.kafka.error_codes import ErrorCode
from tests.cli.administration import Operator, check_cluster, check_topics

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.change


def test_topics(administrator: Operator) -> None:
    check_topics(administrator, ErrorCode.TOPIC_ALREADY_EXISTS)


def test_cluster(administrator: Operator) -> None:
    check_cluster(administrator, [1])


def test_dry_run_creates_nothing(administrator: Operator) -> None:
    [row] = administrator.json("topics", "create", "dry", "-p", "1", "-r", "1", "--dry-run")
    assert row["status"] == "would be created"
    assert administrator.json("topics", "list", "dry") == []
