"""Nothing changes without being told: who applies the differences to what was so before has what is so after.

Whatever happens to a cluster, in whatever order it is told, and with answers in between that are empty.
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
from kwire.metadata import events as d
from kwire.metadata.response_tracker import ResponseTracker
from kwire.testing.cluster_state import ClusterState, assign_replicas
from tests.metadata.test_response_tracker import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.messages.kafka.metadata import MetadataResponse

IDS = (1, 2, 3, 4)
NEW_IDS = count(100)
BROKERS = {n: MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in IDS}


# What happens to a cluster.


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


# What a reader of differences knows.


class Partition(NamedTuple):
    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    offline: frozenset[int]


class Known:
    """A cluster, kept up to date by differences alone, but for what is new and must be read once."""

    def __init__(self, message: MetadataResponse) -> None:
        self.brokers = {broker.node_id: (broker.host, broker.port, broker.rack) for broker in message.brokers}
        self.controller = message.controller_id
        self.topics: dict[str, dict[int, Partition]] = {}
        for topic in message.topics:
            self.read(message, str(topic.name))

    def read(self, message: MetadataResponse, name: str) -> None:
        [topic] = [each for each in message.topics if each.name == name]
        known = self.topics.setdefault(name, {})
        for each in topic.partitions:
            known.setdefault(
                each.partition_index,
                Partition(
                    each.leader_id,
                    each.leader_epoch,
                    each.replica_nodes,
                    frozenset(each.isr_nodes),
                    frozenset(each.offline_replicas),
                ),
            )

    def update(self, difference: Any, **changes: Any) -> None:
        partitions = self.topics[difference.topic]
        partitions[difference.partition] = partitions[difference.partition]._replace(**changes)


@singledispatch
def apply(difference: d.MetadataEvent, known: Known, message: MetadataResponse) -> None:
    raise AssertionError((difference, known, message))


@apply.register(d.BrokerJoined)
def _(difference: d.BrokerJoined, known: Known, _message: MetadataResponse) -> None:
    known.brokers[difference.broker_id] = (difference.host, difference.port, difference.rack)


@apply.register(d.BrokerLeft)
def _(difference: d.BrokerLeft, known: Known, _message: MetadataResponse) -> None:
    del known.brokers[difference.broker_id]


@apply.register(d.ControllerMoved)
def _(difference: d.ControllerMoved, known: Known, _message: MetadataResponse) -> None:
    assert known.controller == difference.before
    known.controller = difference.after


@apply.register(d.TopicAdded)
def _(difference: d.TopicAdded, known: Known, message: MetadataResponse) -> None:
    assert difference.topic not in known.topics
    known.read(message, difference.topic)


@apply.register(d.TopicRemoved)
def _(difference: d.TopicRemoved, known: Known, _message: MetadataResponse) -> None:
    del known.topics[difference.topic]


@apply.register(d.TopicRecreated)
def _(difference: d.TopicRecreated, known: Known, message: MetadataResponse) -> None:
    del known.topics[difference.topic]
    known.read(message, difference.topic)


@apply.register(d.PartitionsAdded)
def _(difference: d.PartitionsAdded, known: Known, message: MetadataResponse) -> None:
    assert not known.topics[difference.topic].keys() & {*difference.partitions}
    known.read(message, difference.topic)


@apply.register(d.LeaderMoved)
def _(difference: d.LeaderMoved, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, leader=difference.after, epoch=difference.after_epoch)


@apply.register(d.LeaderLost)
def _(difference: d.LeaderLost, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, leader=-1, epoch=difference.epoch)


@apply.register(d.LeaderReelected)
def _(difference: d.LeaderReelected, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, epoch=difference.after_epoch)


@apply.register(d.IsrShrank)
@apply.register(d.IsrExpanded)
def _(difference: Any, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, isr=frozenset(difference.after))


@apply.register(d.ReplicasChanged)
def _(difference: d.ReplicasChanged, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, replicas=difference.after)


@apply.register(d.OfflineReplicasChanged)
def _(difference: d.OfflineReplicasChanged, known: Known, _message: MetadataResponse) -> None:
    known.update(difference, offline=frozenset(difference.after))


@given(
    st.lists(st.lists(st.sampled_from(CHANGES), max_size=4), min_size=1, max_size=6), st.integers(0, 9), st.randoms()
)
def test_differences_say_all_that_changed(steps: list[list[Any]], empty_after: int, random: Random) -> None:
    state = first_state()
    view = ResponseTracker()
    view.take(answer(state.metadata()), 0.0, kraft=False)
    known = Known(state.metadata())
    for n, step in enumerate(steps, start=1):
        for change in step:
            state = change(state, random)
        told = state.metadata()
        for difference in view.take(answer(told), n / 10, kraft=False).events:
            apply(difference, known, told)
        expected = Known(told)
        assert known.brokers == expected.brokers
        assert known.controller == expected.controller
        assert {name: _without_idle_epochs(each) for name, each in known.topics.items()} == {
            name: _without_idle_epochs(each) for name, each in expected.topics.items()
        }
        if n == empty_after:
            assert view.take(answer(replace(state, topics={}).metadata()), n / 10, kraft=False).suspect


def _without_idle_epochs(partitions: dict[int, Partition]) -> dict[int, Partition]:
    """Nobody is told that a partition which has no leader is in another epoch."""
    return {n: each._replace(epoch=-1) if each.leader == -1 else each for n, each in partitions.items()}
