"""`kafka cluster health` in states of a real cluster of three brokers, which are its three voters as well."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.administration import Operator
from tests.eventually import eventually_sync
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = "12"
"""Timeout of a request: a silent broker takes a sixth of it."""


@pytest.fixture(scope="module")
def three() -> Iterator[Kafka44]:
    with Kafka44(3, {"offsets.topic.replication.factor": "3", "min.insync.replicas": "2"}) as cluster:
        Operator(cluster.bootstrap).json("topics", "create", "sick", "-p", "6", "-r", "3")
        yield cluster


def problems(cluster: Kafka44) -> set[tuple[str, int | None]]:
    run = Operator(cluster.bootstrap).run("-o", "json", "--timeout", PATIENCE_S, "cluster", "health")
    assert run.code in (0, 6), run.err
    found = {(row["problem"], row["broker"]) for row in json.loads(run.out)}
    assert bool(found) == (run.code == 6)
    return found


def becomes(cluster: Kafka44, expected: set[tuple[str, int | None]]) -> None:
    """Wait until all of the problems are found; for none, until there is no problem."""

    def found() -> bool:
        seen = problems(cluster)
        return expected <= seen if expected else not seen

    eventually_sync(found, f"health reports {expected or 'nothing'}", within=90)


def leader(cluster: Kafka44) -> int | None:
    [described] = Operator(cluster.bootstrap).json("cluster", "describe")
    brokers: list[dict[str, Any]] = described["brokers"]
    named = [broker["broker"] for broker in brokers if broker["controller"]]
    assert named == [described["controller"]] or described["controller"] is None
    return named[0] if named else None


def test_controller_is_the_leader_of_the_quorum(three: Kafka44) -> None:
    becomes(three, set())
    [expected] = {
        row["node"] for row in Operator(three.bootstrap).json("quorum", "describe") if row["role"] == "leader"
    }
    for _ in range(5):  # Metadata names another broker now and then
        assert leader(three) == expected
        [controller] = [row["broker"] for row in Operator(three.bootstrap).json("brokers", "list") if row["controller"]]
        assert controller == expected


def test_voter_and_broker_that_is_paused(three: Kafka44) -> None:
    becomes(three, set())
    paused = next(broker for broker in three.brokers if broker.id != leader(three))
    paused.send_signal(signal.SIGSTOP)
    try:
        becomes(three, {("broker-unreachable", paused.id), ("voter-behind", paused.id)})
    finally:
        paused.send_signal(signal.SIGCONT)
    becomes(three, set())


def test_two_dead_voters_are_seen_although_the_metadata_stays_as_before(three: Kafka44) -> None:
    """Without a majority no controller fences the dead brokers, so their metadata stays."""
    becomes(three, set())
    dead = three.brokers[:2]
    for broker in dead:
        broker.kill()
    expected: set[tuple[str, int | None]] = {("broker-unreachable", broker.id) for broker in dead}
    expected.add(("no-quorum", None))
    becomes(three, expected)
    assert leader(three) is None
    for broker in dead:
        broker.launch()
    for broker in dead:
        broker.wait_until_started()
    becomes(three, set())
