"""A poller of three real brokers while one is killed and started again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import Capture, replay
from kwire.client import Poll, Poller
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.metadata.events import BrokerJoined, BrokerLeft, IsrExpanded, IsrShrank, LeaderMoved
from tests.kafka.administrator import Administrator
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT_SESSION = {
    Kafka39: {"zookeeper.session.timeout.ms": "8000"},
    Kafka44: {"broker.session.timeout.ms": "8000", "broker.heartbeat.interval.ms": "400"},
}
"""Shorter than the default, so that a killed broker is fenced soon, but long enough for a busy machine."""
PARTITIONS = 6
VICTIM = 3


def is_complete(message: object) -> bool:
    """Return whether a response lists all partitions of the topic with all replicas in sync."""
    assert isinstance(message, MetadataResponse)
    partitions = [partition for topic in message.topics for partition in topic.partitions]
    return len(partitions) == PARTITIONS and all(len(partition.isr_nodes) == 3 for partition in partitions)


@pytest.mark.parametrize("kafka", [Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
async def test_killed_broker_fails_polls_leaves_and_returns(kafka: type[KafkaCluster], tmp_path: Path) -> None:
    polls: list[Poll[Any]] = []

    def is_listed_by_every_broker(_: Poll[Any]) -> bool:
        """Check all brokers, because the administrator has waited for only one of them."""
        messages = {poll.broker_id: poll.message for poll in polls}
        return len(messages) == 3 and all(map(is_complete, messages.values()))

    def is_reported_by_survivors(event: type[object], since: int) -> Callable[[Poll[Any]], bool]:
        def check(_: Poll[Any]) -> bool:
            reporting = {
                poll.broker_id for poll in polls[since:] for reported in poll.events if isinstance(reported, event)
            }
            return reporting >= {1, 2}

        return check

    async def poll_until(poller: Poller[Any], done: Callable[[Poll[Any]], bool]) -> None:
        async with asyncio.timeout(120):
            async for poll in poller:
                polls.append(poll)
                if done(poll):
                    return

    with kafka(brokers=3, config=SHORT_SESSION[kafka]) as cluster, Capture(tmp_path) as capture:
        async with Poller(cluster.bootstrap, interval=0.1, timeout=30.0, capture=capture) as poller:
            await asyncio.to_thread(Administrator(cluster).create, "watched", PARTITIONS, 3)
            await poll_until(poller, is_listed_by_every_broker)
            killed = len(polls)
            await asyncio.to_thread(cluster.brokers[VICTIM - 1].kill)
            await poll_until(poller, is_reported_by_survivors(BrokerLeft, killed))
            started = len(polls)
            await asyncio.to_thread(cluster.brokers[VICTIM - 1].start)
            await poll_until(poller, is_reported_by_survivors(IsrExpanded, started))

    failed = [poll for poll in polls if poll.error is not None]
    assert {poll.broker_id for poll in failed} == {VICTIM}
    left = [poll for poll in polls[:started] if BrokerLeft(VICTIM) in poll.events]
    assert {poll.broker_id for poll in left} == {1, 2}
    # After its start a broker of 4.4.0 may report the cluster before its own registration is replicated to it.
    left_again = [poll for poll in polls[started:] if BrokerLeft(VICTIM) in poll.events]
    assert {poll.broker_id for poll in left_again} <= {VICTIM}
    assert failed[0].polled_at < left[0].polled_at
    reported_by_1 = [event for poll in polls[killed:] if poll.broker_id == 1 for event in poll.events]
    # 3.9.1 may report partitions without a leader first, so the previous leader is not always known.
    moved = {
        event.partition: event for event in reported_by_1 if isinstance(event, LeaderMoved) and event.after != VICTIM
    }
    assert len(moved) == PARTITIONS / 3
    assert all(event.after_epoch > event.before_epoch for event in moved.values())
    assert {event.partition for event in reported_by_1 if isinstance(event, IsrShrank) and VICTIM in event.gone} == set(
        range(PARTITIONS)
    )
    assert [event.broker_id for event in reported_by_1 if isinstance(event, BrokerJoined)] == [VICTIM]
    stored = [row for row in replay(tmp_path) if row.kind == "error"]
    assert {row.broker_id for row in stored} == {VICTIM}
    assert [row.error for row in stored[: len(failed)]] == [str(poll.error) for poll in failed]
