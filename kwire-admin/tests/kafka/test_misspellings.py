"""Misspelled names on real Kafka: the error names the most similar ones, and comes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.administration import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import KafkaCluster


@pytest.fixture(scope="module")
def operator(cluster: KafkaCluster) -> Iterator[Operator]:
    """A topic and a group."""
    operator = Operator(cluster.bootstrap)
    operator.json("topics", "create", "shipments", "-p", "1", "-r", "1")
    operator.json("groups", "reset-offsets", "couriers", "--topic", "shipments", "--to", "earliest", "--yes")
    yield operator
    operator.json("groups", "delete", "couriers", "--yes")
    operator.json("topics", "delete", "shipments", "--yes")


@pytest.mark.parametrize(
    ("arguments", "code", "suggestion"),
    [
        (["topics", "describe", "shipment"], 1, "did you mean shipments?"),
        (["topics", "delete", "shipment", "--yes"], 1, "did you mean shipments?"),
        (["groups", "lag", "curiers"], 1, "did you mean couriers?"),
        (["groups", "describe", "curiers"], 1, "did you mean couriers?"),
        (["groups", "delete", "curiers", "--yes"], 1, "did you mean couriers?"),
        (
            ["groups", "lag", "couriers", "--topic", "shipment"],
            0,
            "no group has offsets of shipment: did you mean ship",
        ),
        (["configs", "get", "topic/shipment"], 1, "did you mean shipments?"),
        (["configs", "get", "topic/shipments", "retenton.ms"], 2, "did you mean retention.ms"),
        (["configs", "set", "topic/shipment", "retention.ms=7"], 1, "did you mean shipments?"),
        (["configs", "set", "topic/shipments", "retenton.ms=7"], 1, "did you mean retention.ms"),
        (["configs", "set", "broker/default", "log.retention.mss=7"], 2, "did you mean log.retention.ms"),
        (
            ["topics", "create", "new", "-p", "1", "-r", "1", "--config", "retenton.ms=7"],
            1,
            "did you mean retention.ms",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_similar_name_is_suggested(arguments: list[str], code: int, suggestion: str, operator: Operator) -> None:
    run = operator.run(*arguments)
    assert run.code == code
    assert suggestion in run.err
    assert len(run.err.splitlines()) == 1
    assert "sent" not in run.err, "the request is not repeated"
