"""Events of the changes between two responses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kwire.decoder import compare
from kwire.messages.kafka.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kwire.messages.kafka.metadata import MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
from kwire.messages.kip4 import structures
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as LagPartition
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as LagTopic
from kwire.metadata.diff import is_same
from kwire.metadata.event_rules import metadata_events
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
from tests.for_rows import for_rows
from tests.metadata.responses import BROKERS, ID, OTHER_ID, metadata, partition, topic

if TYPE_CHECKING:
    from kwire.declare import Message


def events_of(before: Message, after: Message, *, kraft: bool = False) -> tuple[MetadataEvent, ...]:
    return metadata_events(compare(before, after), before, after, kraft=kraft)


def events_of_partition(
    before: MetadataResponsePartition, after: MetadataResponsePartition
) -> tuple[MetadataEvent, ...]:
    return events_of(metadata(topic("orders", before)), metadata(topic("orders", after)))


def test_first_and_unchanged_responses_have_no_events() -> None:
    response = metadata(topic())
    changes = compare(None, response)
    assert changes.first
    assert not is_same(changes)
    assert metadata_events(changes, None, response, kraft=False) == ()
    assert events_of(response, response) == ()


# Brokers and controller


def test_brokers_join_leave_and_move() -> None:
    moved = MetadataResponseBroker(node_id=2, host="broker-2", port=9093)
    new = MetadataResponseBroker(node_id=4, host="broker-4", port=9092, rack="r1")
    assert events_of(metadata(), metadata(brokers=(new, moved, BROKERS[2]))) == (
        BrokerJoined(4, "broker-4", 9092, "r1"),
        BrokerChanged(2, ("broker-2", 9092, None), ("broker-2", 9093, None)),
        BrokerLeft(1),
    )


def test_controller_moves_are_reported_except_under_kraft() -> None:
    before, after = metadata(controller=1), metadata(controller=2)
    assert events_of(before, after) == (ControllerMoved(1, 2),)
    assert events_of(before, after, kraft=True) == ()
    assert is_same(compare(before, after))


def test_cluster_metadata_reports_controller_moves() -> None:
    one, two = (structures.Broker(node_id=n, host="h", port=n) for n in (1, 2))
    before = ClusterMetadataResponse(error_code=0, brokers=(one, two), controller=one)
    assert events_of(before, replace(before, controller=two)) == (ControllerMoved(1, 2),)
    assert events_of(before, replace(before, controller=None)) == (ControllerMoved(1, -1),)


# Topics


def test_topics_are_added_and_removed() -> None:
    before, after = metadata(topic("a")), metadata(topic("b", id=OTHER_ID))
    assert events_of(before, after) == (TopicAdded("b", OTHER_ID, 1), TopicRemoved("a", ID))


def test_zero_topic_id_becomes_null() -> None:
    assert events_of(metadata(), metadata(topic("a", id=UUID(int=0)))) == (TopicAdded("a", None, 1),)


def test_topic_with_another_id_is_recreated() -> None:
    before = metadata(topic("a", partition(leader=1, epoch=7)))
    after = metadata(topic("a", partition(leader=2, epoch=0), partition(1), id=OTHER_ID))
    assert events_of(before, after) == (TopicRecreated("a", ID, OTHER_ID, 2),)


def test_partitions_are_added() -> None:
    after = topic("a", partition(2), partition(0), partition(1))
    assert events_of(metadata(topic("a")), metadata(after)) == (PartitionsAdded("a", (1, 2)),)


def test_partitions_of_a_topic_with_an_error_are_missing() -> None:
    before = metadata(topic("a", partition(0), partition(1)))
    after = metadata(MetadataResponseTopic(error_code=5, name="a", topic_id=ID, partitions=()))
    assert events_of(before, after) == (PartitionsMissing("a", (0, 1), 5),)


def test_topic_without_a_name_is_reported_by_its_id() -> None:
    assert events_of(metadata(), metadata(topic(None, error=100))) == (TopicAdded(str(ID), ID, 1),)


# Partitions


@for_rows(
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
def test_change_of_one_field_has_one_event(after: MetadataResponsePartition, expected: MetadataEvent) -> None:
    assert events_of_partition(partition(), after) == (expected,)


def test_leader_isr_and_offline_replicas_recover_together() -> None:
    before = partition(leader=-1, isr=(1,), offline=(2,))
    assert events_of_partition(before, partition(leader=2, epoch=6)) == (
        LeaderMoved("orders", 0, -1, 2, 5, 6),
        IsrExpanded("orders", 0, (1,), (1, 2, 3), (2, 3)),
        OfflineReplicasChanged("orders", 0, (2,), ()),
    )


def test_replaced_isr_member_shrinks_and_expands_the_isr() -> None:
    assert events_of_partition(partition(isr=(1, 2)), partition(isr=(1, 3))) == (
        IsrShrank("orders", 0, (1, 2), (1, 3), (2,)),
        IsrExpanded("orders", 0, (1, 2), (1, 3), (3,)),
    )


def test_versions_without_epochs_report_no_elections() -> None:
    assert events_of_partition(partition(epoch=-1), partition(epoch=3)) == ()
    assert events_of_partition(partition(epoch=-1), partition(leader=-1, epoch=-1)) == (
        LeaderLost("orders", 0, 1, -1, electing=False),
    )


# Order

MANY = tuple(topic(f"t{n}", *(partition(index) for index in range(4)), id=UUID(int=n + 1)) for n in range(5))


@given(st.permutations(MANY), st.permutations(BROKERS), st.permutations(range(4)), st.permutations((1, 2, 3)))
def test_order_has_no_meaning(
    topics: list[MetadataResponseTopic], brokers: list[MetadataResponseBroker], indexes: list[int], isr: list[int]
) -> None:
    reordered = metadata(
        *(
            replace(
                topic, partitions=tuple(replace(topic.partitions[index], isr_nodes=tuple(isr)) for index in indexes)
            )
            for topic in topics
        ),
        brokers=tuple(brokers),
    )
    assert events_of(metadata(*MANY), reordered) == ()
    # The order of an ISR has no event, but the response is not the same: captures store it.
    assert is_same(compare(metadata(*MANY), reordered)) is (isr == [1, 2, 3])


def test_change_is_found_in_any_order() -> None:
    changed = replace(MANY[2], partitions=(*MANY[2].partitions[1:], partition(0, leader=3, epoch=6)))
    after = metadata(*reversed((*MANY[:2], changed, *MANY[3:])))
    assert events_of(metadata(*MANY), after) == (LeaderMoved("t2", 0, 1, 3, 5, 6),)
    assert not is_same(compare(metadata(*MANY), after))


# KIP-4


def lag_topic(*isr: int, leader: int = 1, lag: int = 0, **configs: str) -> LagTopic:
    lag_partition = LagPartition(
        partition_error_code=0,
        partition_id=0,
        leader=leader,
        replicas_lag=tuple(ReplicaLag(replica_id=n, lag=lag) for n in (1, 2)),
        isr=isr,
    )
    entries = (structures.ConfigEntry(config_key=key, config_value=value) for key, value in configs.items())
    return LagTopic(topic_error_code=0, topic_name="orders", partitions=(lag_partition,), config_entries=tuple(entries))


@for_rows(
    ("after", "expected"),
    [
        (lag_topic(1, 2, leader=2), [LeaderMoved("orders", 0, 1, 2, -1, -1)]),
        (lag_topic(1), [IsrShrank("orders", 0, (1, 2), (1,), (2,))]),
        (lag_topic(2, 1, lag=7), []),
        (lag_topic(1, 2, retention="5"), [ConfigChanged("topic", "orders", "retention", None, "5", None, 1)]),
    ],
    ids=["leader", "isr", "lag", "config"],
)
def test_kip4_topic_metadata_has_the_same_events(after: LagTopic, expected: list[MetadataEvent]) -> None:
    brokers = (structures.Broker(node_id=1, host="h", port=1),)
    before = TopicMetadataResponse_V1(brokers=brokers, topics=(lag_topic(1, 2),))
    assert list(events_of(before, TopicMetadataResponse_V1(brokers=brokers, topics=(after,)))) == expected


# Configs


def resource(name: str = "orders", kind: int = 2, error: int = 0, **configs: str) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error,
        error_message=None,
        resource_type=kind,
        resource_name=name,
        configs=tuple(
            DescribeConfigsResourceResult(name=key, value=value, read_only=False, config_source=1, is_sensitive=False)
            for key, value in configs.items()
        ),
    )


def describe_configs(*results: DescribeConfigsResult) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def test_configs_are_set_changed_and_deleted() -> None:
    before = describe_configs(resource("a", x="1", y="2"), resource("b", kind=4, x="1"))
    after = describe_configs(resource("b", kind=4, x="2"), resource("a", y="2", z="3"))
    assert set(events_of(before, after)) == {
        ConfigChanged("broker", "b", "x", "1", "2", 1, 1),
        ConfigChanged("topic", "a", "x", "1", None, 1, None),
        ConfigChanged("topic", "a", "z", None, "3", None, 1),
    }


def test_resource_missing_or_failed_in_one_response_has_no_events() -> None:
    assert events_of(describe_configs(resource("a")), describe_configs(resource("b", x="1"))) == ()
    assert events_of(describe_configs(resource("a", error=3)), describe_configs(resource("a", x="1"))) == ()
    assert events_of(describe_configs(resource("a", x="1")), describe_configs(resource("a", error=-1))) == ()


# Texts


@for_rows(
    ("event", "text"),
    [
        (BrokerJoined(1, "h", 9), "broker 1 joined at h:9"),
        (BrokerLeft(1), "broker 1 left"),
        (BrokerChanged(1, ("h", 9, None), ("i", 9, "r")), "broker 1 moved from h:9 to i:9 in r"),
        (ControllerMoved(1, 2), "controller moved from 1 to 2"),
        (TopicAdded("t", None, 3), "topic t added with 3 partitions"),
        (TopicRemoved("t", None), "topic t removed"),
        (TopicRecreated("t", ID, OTHER_ID, 3), "topic t recreated with 3 partitions"),
        (PartitionsAdded("t", (1, 2)), "topic t: 2 partitions added"),
        (PartitionsMissing("t", (1,), 5), "topic t: 1 partition missing (error 5)"),
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
def test_event_is_described_in_one_line(event: MetadataEvent, text: str) -> None:
    assert str(event) == text
