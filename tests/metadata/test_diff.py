"""What the differences between two answers are called, and that order is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.decoder import compare
from kwire.messages.kafka.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kip4 import structures
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as LagPartition
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as LagTopic
from kwire.metadata.diff import metadata_events, same
from kwire.metadata.events import (
    BrokerChanged,
    BrokerJoined,
    BrokerLeft,
    ConfigChanged,
    ControllerMoved,
    IsrExpanded,
    IsrShrank,
    LeaderLost,
    LeaderMoved,
    LeaderReelected,
    MetadataEvent,
    OfflineReplicasChanged,
    PartitionsAdded,
    PartitionsMissing,
    ReplicasChanged,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)

if TYPE_CHECKING:
    from kwire.declare import Message

ID, OTHER_ID = UUID(int=1), UUID(int=2)
BROKERS = tuple(MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in (1, 2, 3))


def partition(index: int = 0, leader: int = 1, epoch: int = 5, **more: Any) -> MetadataResponsePartition:
    replicas = more.pop("replicas", (1, 2, 3))
    return MetadataResponsePartition(
        error_code=more.pop("error_code", 0),
        partition_index=index,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=replicas,
        isr_nodes=more.pop("isr", replicas),
        offline_replicas=more.pop("offline", ()),
    )


def topic(
    name: str | None = "orders", *partitions: MetadataResponsePartition, id: UUID = ID, error: int = 0
) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error, name=name, topic_id=id, partitions=partitions or (partition(),))


def metadata(
    *topics: MetadataResponseTopic, brokers: tuple[MetadataResponseBroker, ...] = BROKERS, controller: int = 1
) -> MetadataResponse:
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=controller, topics=topics)


def told(before: Message, after: Message, *, kraft: bool = False) -> tuple[MetadataEvent, ...]:
    return metadata_events(compare(before, after), before, after, kraft=kraft)


def told_of_partition(before: MetadataResponsePartition, after: MetadataResponsePartition) -> tuple[MetadataEvent, ...]:
    return told(metadata(topic("orders", before)), metadata(topic("orders", after)))


def test_nothing_is_different_from_nothing() -> None:
    answer = metadata(topic())
    changes = compare(None, answer)
    assert changes.first
    assert not same(changes)
    assert metadata_events(changes, None, answer, kraft=False) == ()
    assert told(answer, answer) == ()


# Brokers and controller.


def test_brokers_come_go_and_move() -> None:
    moved = MetadataResponseBroker(node_id=2, host="broker-2", port=9093)
    new = MetadataResponseBroker(node_id=4, host="broker-4", port=9092, rack="r1")
    assert told(metadata(), metadata(brokers=(new, moved, BROKERS[2]))) == (
        BrokerJoined(4, "broker-4", 9092, "r1"),
        BrokerChanged(2, ("broker-2", 9092, None), ("broker-2", 9093, None)),
        BrokerLeft(1),
    )


def test_the_controller_moves_but_under_kraft_where_its_id_means_nothing() -> None:
    before, after = metadata(controller=1), metadata(controller=2)
    assert told(before, after) == (ControllerMoved(1, 2),)
    assert told(before, after, kraft=True) == ()
    assert same(compare(before, after))


def test_kip_4_tells_the_controller_in_a_message_of_its_own() -> None:
    one, two = (structures.Broker(node_id=n, host="h", port=n) for n in (1, 2))
    before = ClusterMetadataResponse(error_code=0, brokers=(one, two), controller=one)
    assert told(before, replace(before, controller=two)) == (ControllerMoved(1, 2),)
    assert told(before, replace(before, controller=None)) == (ControllerMoved(1, -1),)


# Topics.


def test_topics_come_and_go() -> None:
    before, after = metadata(topic("a")), metadata(topic("b", id=OTHER_ID))
    assert told(before, after) == (TopicAdded("b", OTHER_ID, 1), TopicRemoved("a", ID))


def test_a_cluster_without_topic_ids_tells_none() -> None:
    assert told(metadata(), metadata(topic("a", id=UUID(int=0)))) == (TopicAdded("a", None, 1),)


def test_another_id_is_another_topic_whose_epochs_mean_nothing() -> None:
    before = metadata(topic("a", partition(leader=1, epoch=7)))
    after = metadata(topic("a", partition(leader=2, epoch=0), partition(1), id=OTHER_ID))
    assert told(before, after) == (TopicRecreated("a", ID, OTHER_ID, 2),)


def test_partitions_are_added() -> None:
    after = topic("a", partition(2), partition(0), partition(1))
    assert told(metadata(topic("a")), metadata(after)) == (PartitionsAdded("a", (1, 2)),)


def test_partitions_are_never_removed_only_not_told_about() -> None:
    before = metadata(topic("a", partition(0), partition(1)))
    after = metadata(MetadataResponseTopic(error_code=5, name="a", topic_id=ID, partitions=()))
    assert told(before, after) == (PartitionsMissing("a", (0, 1), 5),)


def test_a_topic_without_a_name_goes_by_its_id() -> None:
    assert told(metadata(), metadata(topic(None, error=100))) == (TopicAdded(str(ID), ID, 1),)


# Partitions.


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (partition(leader=2, epoch=6), LeaderMoved("orders", 0, 1, 2, 5, 6)),
        (partition(leader=-1, epoch=6), LeaderLost("orders", 0, 1, 6, electing=False)),
        (partition(leader=-1, epoch=5, error_code=5), LeaderLost("orders", 0, 1, 5, electing=True)),
        (partition(epoch=6), LeaderReelected("orders", 0, 1, 5, 6)),
        (partition(isr=(3, 1)), IsrShrank("orders", 0, (1, 2, 3), (1, 3), (2,))),
        (partition(replicas=(2, 1, 3), isr=(1, 2, 3)), ReplicasChanged("orders", 0, (1, 2, 3), (2, 1, 3))),
        (partition(offline=(3, 2)), OfflineReplicasChanged("orders", 0, (), (2, 3))),
    ],
    ids=lambda value: type(value).__name__ + str(getattr(value, "electing", "")),
)
def test_one_thing_changes(after: MetadataResponsePartition, expected: MetadataEvent) -> None:
    assert told_of_partition(partition(), after) == (expected,)


def test_what_was_lost_comes_back() -> None:
    before = partition(leader=-1, isr=(1,), offline=(2,))
    assert told_of_partition(before, partition(leader=2, epoch=6)) == (
        LeaderMoved("orders", 0, -1, 2, 5, 6),
        IsrExpanded("orders", 0, (1,), (1, 2, 3), (2, 3)),
        OfflineReplicasChanged("orders", 0, (2,), ()),
    )


def test_replicas_may_change_places_in_the_isr() -> None:
    assert told_of_partition(partition(isr=(1, 2)), partition(isr=(1, 3))) == (
        IsrShrank("orders", 0, (1, 2), (1, 3), (2,)),
        IsrExpanded("orders", 0, (1, 2), (1, 3), (3,)),
    )


def test_versions_without_epochs_tell_no_elections() -> None:
    assert told_of_partition(partition(epoch=-1), partition(epoch=3)) == ()
    assert told_of_partition(partition(epoch=-1), partition(leader=-1, epoch=-1)) == (
        LeaderLost("orders", 0, 1, -1, electing=False),
    )


# Order.

MANY = tuple(topic(f"t{n}", *(partition(index) for index in range(4)), id=UUID(int=n + 1)) for n in range(5))


@given(st.permutations(MANY), st.permutations(BROKERS), st.permutations(range(4)), st.permutations((1, 2, 3)))
def test_order_means_nothing(
    topics: list[MetadataResponseTopic], brokers: list[MetadataResponseBroker], indexes: list[int], isr: list[int]
) -> None:
    told_again = metadata(
        *(
            replace(each, partitions=tuple(replace(each.partitions[index], isr_nodes=tuple(isr)) for index in indexes))
            for each in topics
        ),
        brokers=tuple(brokers),
    )
    assert told(metadata(*MANY), told_again) == ()
    # The order of an ISR is kept by a capture all the same: it is not the order of keyed elements.
    assert same(compare(metadata(*MANY), told_again)) is (isr == [1, 2, 3])


def test_a_change_is_found_in_whatever_order() -> None:
    changed = replace(MANY[2], partitions=(*MANY[2].partitions[1:], partition(0, leader=3, epoch=6)))
    after = metadata(*reversed((*MANY[:2], changed, *MANY[3:])))
    assert told(metadata(*MANY), after) == (LeaderMoved("t2", 0, 1, 3, 5, 6),)
    assert not same(compare(metadata(*MANY), after))


# KIP-4's words.


def lag_topic(*isr: int, leader: int = 1, lag: int = 0, **settings: str) -> LagTopic:
    told = LagPartition(
        partition_error_code=0,
        partition_id=0,
        leader=leader,
        replicas_lag=tuple(ReplicaLag(replica_id=n, lag=lag) for n in (1, 2)),
        isr=isr,
    )
    entries = (structures.ConfigEntry(config_key=key, config_value=value) for key, value in settings.items())
    return LagTopic(topic_error_code=0, topic_name="orders", partitions=(told,), config_entries=tuple(entries))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (lag_topic(1, 2, leader=2), [LeaderMoved("orders", 0, 1, 2, -1, -1)]),
        (lag_topic(1), [IsrShrank("orders", 0, (1, 2), (1,), (2,))]),
        (lag_topic(2, 1, lag=7), []),
        (lag_topic(1, 2, retention="5"), [ConfigChanged("topic", "orders", "retention", None, "5")]),
    ],
    ids=["leader", "isr", "lag", "config"],
)
def test_the_batched_draft_of_kip_4_is_compared_alike(after: LagTopic, expected: list[MetadataEvent]) -> None:
    brokers = (structures.Broker(node_id=1, host="h", port=1),)
    before = TopicMetadataResponse_V1(brokers=brokers, topics=(lag_topic(1, 2),))
    assert list(told(before, TopicMetadataResponse_V1(brokers=brokers, topics=(after,)))) == expected


# Settings.


def configs(name: str = "orders", kind: int = 2, error: int = 0, **settings: str) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error,
        error_message=None,
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            DescribeConfigsResourceResult(name=key, value=value, read_only=False, config_source=1, is_sensitive=False)
            for key, value in settings.items()
        ),
    )


def described(*results: DescribeConfigsResult) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def test_settings_are_set_changed_and_taken_back() -> None:
    before = described(configs("a", x="1", y="2"), configs("b", kind=4, x="1"))
    after = described(configs("b", kind=4, x="2"), configs("a", y="2", z="3"))
    assert set(told(before, after)) == {
        ConfigChanged("broker", "b", "x", "1", "2", 1, 1),
        ConfigChanged("topic", "a", "x", "1", None, 1, None),
        ConfigChanged("topic", "a", "z", None, "3", None, 1),
    }


def test_a_resource_that_was_not_asked_or_not_answered_before_has_changed_nothing() -> None:
    assert told(described(configs("a")), described(configs("b", x="1"))) == ()
    assert told(described(configs("a", error=3)), described(configs("a", x="1"))) == ()
    assert told(described(configs("a", x="1")), described(configs("a", error=-1))) == ()


# Texts.


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (BrokerJoined(1, "h", 9), "broker 1 joined at h:9"),
        (BrokerLeft(1), "broker 1 gone"),
        (BrokerChanged(1, ("h", 9, None), ("i", 9, "r")), "broker 1 moved from h:9 to i:9 in r"),
        (ControllerMoved(1, 2), "controller moved from 1 to 2"),
        (TopicAdded("t", None, 3), "topic t added with 3 partitions"),
        (TopicRemoved("t", None), "topic t removed"),
        (TopicRecreated("t", ID, OTHER_ID, 3), "topic t deleted and made anew with 3 partitions"),
        (PartitionsAdded("t", (1, 2)), "topic t: 2 partitions added"),
        (PartitionsMissing("t", (1,), 5), "topic t: 1 partitions are missing (error 5)"),
        (LeaderMoved("t", 0, 1, 2, 3, 4), "t-0: leader moved from 1 to 2"),
        (LeaderLost("t", 0, 1, 3, electing=True), "t-0: leader 1 lost, electing"),
        (LeaderReelected("t", 0, 1, 3, 4), "t-0: leader 1 reelected (epoch 3 to 4)"),
        (IsrShrank("t", 0, (1, 2), (1,), (2,)), "t-0: ISR shrank to [1] without [2]"),
        (IsrExpanded("t", 0, (1,), (1, 2), (2,)), "t-0: ISR expanded to [1, 2] with [2]"),
        (ReplicasChanged("t", 0, (1,), (2,)), "t-0: replicas changed from [1] to [2]"),
        (OfflineReplicasChanged("t", 0, (1,), ()), "t-0: offline replicas [], before [1]"),
        (ConfigChanged("topic", "t", "k", None, "v"), "topic t: k changed from None to v"),
        (ConfigChanged("broker", "", "k", "u", "v"), "broker: k changed from u to v"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, MetadataEvent) else value,
)
def test_every_difference_is_a_line_for_a_person(difference: MetadataEvent, text: str) -> None:
    assert str(difference) == text
