"""What a poller sees of three real brokers when one is killed and comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture, replay
from kwire.client import Poll, Poller
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.metadata.events import BrokerJoined, BrokerLeft, IsrExpanded, IsrShrank, LeaderMoved
from kwire.testing.kafka import Cluster, Kafka39, Kafka44
from tests.kafka.administering import Administrator

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT_SESSIONS = {
    Kafka39: {"zookeeper.session.timeout.ms": "4000"},
    Kafka44: {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "400"},
}
"""Shorter than Kafka's, so that a death is noticed soon; long enough for brokers that wait for a processor."""
PARTITIONS = 6
VICTIM = 3


def whole(view: object) -> bool:
    """Whether a broker tells of all partitions of the topic with all replicas in sync."""
    assert isinstance(view, MetadataResponse)
    partitions = [partition for topic in view.topics for partition in topic.partitions]
    return len(partitions) == PARTITIONS and all(len(partition.isr_nodes) == 3 for partition in partitions)


@pytest.mark.parametrize("kafka", [Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
def test_a_killed_broker_is_silent_then_gone_then_back(kafka: type[Cluster], tmp_path: Path) -> None:
    polls: list[Poll] = []
    killed: list[int] = []
    started: list[int] = []

    async def watch(cluster: Cluster, administrator: Administrator, capture: Capture) -> None:
        async with Poller(cluster.bootstrap, interval=0.1, timeout=10.0, capture=capture) as poller:

            async def until(enough: Callable[[Poll], bool]) -> None:
                async with asyncio.timeout(60):
                    async for poll in poller:
                        polls.append(poll)
                        if enough(poll):
                            return

            def every_broker_told(what: type[object], since: int) -> Callable[[Poll], bool]:
                def enough(_: Poll) -> bool:
                    told = {poll.broker_id for poll in polls[since:] for each in poll.events if isinstance(each, what)}
                    return told >= {1, 2}

                return enough

            def every_broker_knows_the_topic(_: Poll) -> bool:
                """Not only the one that the administrator asked: a new controller may be the first to tell the rest."""
                views = {poll.broker_id: poll.message for poll in polls}
                return len(views) == 3 and all(map(whole, views.values()))

            await asyncio.to_thread(administrator.create, "watched", PARTITIONS, 3)
            await until(every_broker_knows_the_topic)
            killed.append(len(polls))
            await asyncio.to_thread(cluster.brokers[VICTIM - 1].kill)
            await until(every_broker_told(BrokerLeft, killed[0]))
            started.append(len(polls))
            await asyncio.to_thread(cluster.brokers[VICTIM - 1].start)
            await until(every_broker_told(IsrExpanded, started[0]))

    with kafka(brokers=3, config=SHORT_SESSIONS[kafka]) as cluster, Capture(tmp_path) as capture:
        asyncio.run(watch(cluster, Administrator(cluster), capture))

    silence = [poll for poll in polls if poll.error is not None]
    assert {poll.broker_id for poll in silence} == {VICTIM}
    gone = [poll for poll in polls[: started[0]] if BrokerLeft(VICTIM) in poll.events]
    assert {poll.broker_id for poll in gone} == {1, 2}
    # Back again, 4.4.0 may tell of the cluster before it has heard that it is part of it.
    gone_again = [poll for poll in polls[started[0] :] if BrokerLeft(VICTIM) in poll.events]
    assert {poll.broker_id for poll in gone_again} <= {VICTIM}
    assert silence[0].polled_at < gone[0].polled_at
    told_by_1 = [each for poll in polls[killed[0] :] if poll.broker_id == 1 for each in poll.events]
    # 3.9.1 may show partitions without a leader first, so where they moved from is not always told.
    moved = {each.partition: each for each in told_by_1 if isinstance(each, LeaderMoved) and each.after != VICTIM}
    assert len(moved) == PARTITIONS / 3
    assert all(each.after_epoch > each.before_epoch for each in moved.values())
    assert {each.partition for each in told_by_1 if isinstance(each, IsrShrank) and VICTIM in each.gone} == set(
        range(PARTITIONS)
    )
    assert [each.broker_id for each in told_by_1 if isinstance(each, BrokerJoined)] == [VICTIM]
    kept = [row for row in replay(tmp_path) if row.kind == "error"]
    assert {row.broker_id for row in kept} == {VICTIM}
    assert [row.error for row in kept[: len(silence)]] == [str(poll.error) for poll in silence]
