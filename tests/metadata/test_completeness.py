"""Events are complete: applied to the state before, they give the state after.

This holds for random changes, in any order of brokers, topics, and partitions, with suspect responses in between.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kwire.messages.kafka.metadata import MetadataResponseBroker
from kwire.metadata import events as e
from kwire.metadata.response_tracker import ResponseTracker
from kwire.testing.cluster_state import ClusterState, assign_replicas
from tests.metadata.test_response_tracker import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.messages.kafka.metadata import MetadataResponse

IDS = (1, 2, 3, 4)
NEW_IDS = count(100)
BROKERS = {n: MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in IDS}


# Changes of a cluster


def first_state() -> ClusterState:
    empty = ClusterState("c", 1, tuple(BROKERS.values()))
    topics = (empty.new_topic(f"t{n}", UUID(int=n + 1), assign_replicas(IDS, 3, 3), internal=False) for n in range(4))
    return empty.with_topics(topics)


def create(state: ClusterState, random: Random) -> ClusterState:
    name = f"t{random.randrange(100, 200)}"
    made = state.new_topic(name, UUID(int=next(NEW_IDS)), assign_replicas(IDS, random.randint(1, 3), 2), internal=False)
    return state.with_topics([made])


def delete(state: ClusterState, random: Random) -> ClusterState:
    return state.without_topics([random.choice(list(state.topics))]) if len(state.topics) > 1 else state


def extend(state: ClusterState, random: Random) -> ClusterState:
    return state.with_partitions(random.choice(list(state.topics)), assign_replicas(IDS, 2, 2))


def some_partition(state: ClusterState, random: Random) -> tuple[str, int]:
    name = random.choice(list(state.topics))
    return name, random.choice(state.topics[name].partitions).partition_index


def lead(state: ClusterState, random: Random) -> ClusterState:
    return state.with_leader(*some_partition(state, random), random.choice([*IDS, -1]))


def sync(state: ClusterState, random: Random) -> ClusterState:
    name, index = some_partition(state, random)
    replicas = state.partition(name, index).replica_nodes
    return state.with_isr(name, index, random.sample(replicas, random.randint(1, len(replicas))))


def move(state: ClusterState, random: Random) -> ClusterState:
    return state.with_replicas(*some_partition(state, random), random.sample(IDS, random.randint(1, 4)))


def die(state: ClusterState, random: Random) -> ClusterState:
    return state.without_broker(random.choice(list(state.live_broker_ids))) if len(state.live_broker_ids) > 1 else state


def come(state: ClusterState, random: Random) -> ClusterState:
    return state.with_broker(BROKERS[random.choice(IDS)])


def rule(state: ClusterState, random: Random) -> ClusterState:
    return replace(state, controller_id=random.choice(IDS))


def shuffle(state: ClusterState, random: Random) -> ClusterState:
    topics = {
        name: replace(topic, partitions=tuple(random.sample(topic.partitions, len(topic.partitions))))
        for name, topic in random.sample(list(state.topics.items()), len(state.topics))
    }
    return replace(state, topics=topics, brokers=tuple(random.sample(state.brokers, len(state.brokers))))


CHANGES: list[Callable[[ClusterState, Random], ClusterState]] = [
    create,
    delete,
    extend,
    lead,
    sync,
    move,
    die,
    come,
    rule,
    shuffle,
]


# The state according to events


class Partition(NamedTuple):
    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    offline: frozenset[int]


class Known:
    """A cluster that is updated from events. New topics and partitions are read from the response."""

    def __init__(self, message: MetadataResponse) -> None:
        self.brokers = {broker.node_id: (broker.host, broker.port, broker.rack) for broker in message.brokers}
        self.controller = message.controller_id
        self.topics: dict[str, dict[int, Partition]] = {}
        for topic in message.topics:
            self.read(message, str(topic.name))

    def read(self, message: MetadataResponse, name: str) -> None:
        [topic] = [topic for topic in message.topics if topic.name == name]
        known = self.topics.setdefault(name, {})
        for partition in topic.partitions:
            known.setdefault(
                partition.partition_index,
                Partition(
                    partition.leader_id,
                    partition.leader_epoch,
                    partition.replica_nodes,
                    frozenset(partition.isr_nodes),
                    frozenset(partition.offline_replicas),
                ),
            )

    def update(self, event: Any, **changes: Any) -> None:
        partitions = self.topics[event.topic]
        partitions[event.partition] = partitions[event.partition]._replace(**changes)


@singledispatch
def apply_event(event: e.MetadataEvent, known: Known, message: MetadataResponse) -> None:
    raise AssertionError((event, known, message))


@apply_event.register(e.BrokerJoined)
def _(event: e.BrokerJoined, known: Known, _message: MetadataResponse) -> None:
    known.brokers[event.broker_id] = (event.host, event.port, event.rack)


@apply_event.register(e.BrokerLeft)
def _(event: e.BrokerLeft, known: Known, _message: MetadataResponse) -> None:
    del known.brokers[event.broker_id]


@apply_event.register(e.ControllerMoved)
def _(event: e.ControllerMoved, known: Known, _message: MetadataResponse) -> None:
    assert known.controller == event.before
    known.controller = event.after


@apply_event.register(e.TopicAdded)
def _(event: e.TopicAdded, known: Known, message: MetadataResponse) -> None:
    assert event.topic not in known.topics
    known.read(message, event.topic)


@apply_event.register(e.TopicRemoved)
def _(event: e.TopicRemoved, known: Known, _message: MetadataResponse) -> None:
    del known.topics[event.topic]


@apply_event.register(e.TopicRecreated)
def _(event: e.TopicRecreated, known: Known, message: MetadataResponse) -> None:
    del known.topics[event.topic]
    known.read(message, event.topic)


@apply_event.register(e.PartitionsAdded)
def _(event: e.PartitionsAdded, known: Known, message: MetadataResponse) -> None:
    assert not known.topics[event.topic].keys() & {*event.partitions}
    known.read(message, event.topic)


@apply_event.register(e.LeaderMoved)
def _(event: e.LeaderMoved, known: Known, _message: MetadataResponse) -> None:
    known.update(event, leader=event.after, epoch=event.after_epoch)


@apply_event.register(e.LeaderLost)
def _(event: e.LeaderLost, known: Known, _message: MetadataResponse) -> None:
    known.update(event, leader=-1, epoch=event.epoch)


@apply_event.register(e.LeaderReelected)
def _(event: e.LeaderReelected, known: Known, _message: MetadataResponse) -> None:
    known.update(event, epoch=event.after_epoch)


@apply_event.register(e.IsrShrank)
@apply_event.register(e.IsrExpanded)
def _(event: Any, known: Known, _message: MetadataResponse) -> None:
    known.update(event, isr=frozenset(event.after))


@apply_event.register(e.ReplicasChanged)
def _(event: e.ReplicasChanged, known: Known, _message: MetadataResponse) -> None:
    known.update(event, replicas=event.after)


@apply_event.register(e.OfflineReplicasChanged)
def _(event: e.OfflineReplicasChanged, known: Known, _message: MetadataResponse) -> None:
    known.update(event, offline=frozenset(event.after))


@given(
    st.lists(st.lists(st.sampled_from(CHANGES), max_size=4), min_size=1, max_size=6), st.integers(0, 9), st.randoms()
)
def test_events_describe_every_change(steps: list[list[Any]], empty_after: int, random: Random) -> None:
    state = first_state()
    tracker = ResponseTracker()
    apply(tracker, state.metadata(), 0.0)
    known = Known(state.metadata())
    for n, step in enumerate(steps, start=1):
        for change in step:
            state = change(state, random)
        message = state.metadata()
        for event in apply(tracker, message, n / 10).events:
            apply_event(event, known, message)
        expected = Known(message)
        assert known.brokers == expected.brokers
        assert known.controller == expected.controller
        assert {name: _without_epochs_of_leaderless(partitions) for name, partitions in known.topics.items()} == {
            name: _without_epochs_of_leaderless(partitions) for name, partitions in expected.topics.items()
        }
        if n == empty_after:
            assert apply(tracker, replace(state, topics={}).metadata(), n / 10).suspect


def _without_epochs_of_leaderless(partitions: dict[int, Partition]) -> dict[int, Partition]:
    """Drop the epochs of partitions without a leader: a new epoch alone has no event."""
    return {
        n: partition._replace(epoch=-1) if partition.leader == -1 else partition for n, partition in partitions.items()
    }
