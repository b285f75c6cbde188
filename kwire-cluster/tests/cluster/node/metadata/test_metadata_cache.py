"""The metadata cache: which updates it applies, and that encoded parts equal a fresh encoding."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.messages.kafka.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import Broker, ConfigEntry
from kwire.messages.kip4.topic_metadata import TopicMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire_cluster.node.metadata.metadata_cache import MetadataCache

FIRST, SECOND = UUID(int=1), UUID(int=2)


def live(*ids: int) -> tuple[UpdateMetadataBroker, ...]:
    return tuple(
        UpdateMetadataBroker(
            id=node_id,
            endpoints=(
                UpdateMetadataEndpoint(port=9000 + node_id, host="node", listener="ADMIN", security_protocol=0),
            ),
        )
        for node_id in ids
    )


def state(partition: int, leader: int, isr: tuple[int, ...], replicas: tuple[int, ...]) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=partition,
        controller_epoch=1,
        leader=leader,
        leader_epoch=0,
        isr=isr,
        zk_version=0,
        replicas=replicas,
    )


def update(
    *topics: UpdateMetadataTopicState,
    epoch: int = 1,
    everything: bool = False,
    brokers: tuple[UpdateMetadataBroker, ...] = live(1, 2),
) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=epoch,
        type=2 if everything else 1,
        topic_states=topics,
        live_brokers=brokers,
    )


def topic(name: str, *states: UpdateMetadataPartitionState, topic_id: UUID = FIRST) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=states)


def describe(metadata: MetadataCache, *names: str) -> TopicMetadataResponse_V1:
    return kwire.decode(TopicMetadataResponse_V1, metadata.response_body(1, names), version=1)


def test_response_describes_brokers_topics_and_configs() -> None:
    metadata = MetadataCache()
    assert (
        metadata.update(update(topic("a", state(0, 1, (1, 2), (1, 2)), state(1, -1, (), (2, 1))))) is ErrorCode.NO_ERROR
    )
    metadata.set_configs("a", {"retention.ms": "5"})

    response = describe(metadata)

    assert response.brokers == (Broker(node_id=1, host="node", port=9001), Broker(node_id=2, host="node", port=9002))
    [a] = response.topics
    assert (a.topic_error_code, a.topic_name) == (0, "a")
    assert a.config_entries == (ConfigEntry(config_key="retention.ms", config_value="5"),)
    led, leaderless = a.partitions
    assert (led.partition_id, led.partition_error_code, led.leader, led.isr) == (0, 0, 1, (1, 2))
    assert led.replicas_lag == (ReplicaLag(replica_id=1, lag=0), ReplicaLag(replica_id=2, lag=0))
    assert (leaderless.partition_error_code, leaderless.leader) == (5, -1)
    assert leaderless.replicas_lag == (ReplicaLag(replica_id=2, lag=-1), ReplicaLag(replica_id=1, lag=-1))


def test_lag_of_a_dead_replica_is_unknown() -> None:
    rows: dict[str, tuple[tuple[int, ...], tuple[int, ...], list[int]]] = {
        "all replicas in sync": ((1, 2), (), [0, 0]),
        "a dead replica outside of the ISR": ((1,), (2,), [0, -1]),
        "the last member of the ISR stays in it when its broker fails": ((2,), (2,), [-1, -1]),
        "a failed member that the controller has not removed yet": ((1, 2), (1,), [-1, 0]),
    }
    for row, (isr, offline, expected) in rows.items():
        metadata = MetadataCache()
        metadata.update(update(topic("a", replace(state(0, 1, isr, (1, 2)), offline_replicas=offline))))

        [partition] = describe(metadata).topics[0].partitions

        assert [lag.lag for lag in partition.replicas_lag] == expected, row
        assert partition.isr == isr, row


def test_version_0_has_replicas_and_no_configs() -> None:
    metadata = MetadataCache()
    metadata.update(update(topic("a", state(0, 1, (1,), (1, 2)))))

    response = kwire.decode(TopicMetadataResponse, metadata.response_body(0, ()), version=0)

    [partition] = response.topics[0].partitions
    assert (partition.replicas, partition.isr) == ((1, 2), (1,))


def test_unknown_topic_has_error_3() -> None:
    metadata = MetadataCache()
    metadata.update(update(topic("a", state(0, 1, (1,), (1,)))))

    response = describe(metadata, "nosuch", "a", "nosuch")

    assert [(topic.topic_name, topic.topic_error_code) for topic in response.topics] == [("nosuch", 3), ("a", 0)]
    assert [topic.topic_name for topic in describe(metadata).topics] == ["a"]


def test_error_of_an_unknown_topic_can_be_given() -> None:
    metadata = MetadataCache()

    def codes() -> list[int]:
        response = metadata.response_body(0, ("created", "nosuch"), {"created": 5})
        return [topic.topic_error_code for topic in kwire.decode(TopicMetadataResponse, response, version=0).topics]

    assert codes() == [5, 3]
    metadata.update(update(topic("created", state(0, 1, (1,), (1,)))))
    assert codes() == [0, 3]


def test_update_of_an_older_controller_is_rejected() -> None:
    metadata = MetadataCache()
    metadata.update(update(topic("a", state(0, 1, (1,), (1,))), epoch=7))

    response = metadata.update(update(topic("b", state(0, 1, (1,), (1,))), epoch=6, brokers=live(1)))

    assert response is ErrorCode.STALE_CONTROLLER_EPOCH
    assert set(metadata.topics) == {"a"}
    assert set(metadata.brokers) == {1, 2}


def test_update_of_a_second_controller_of_the_epoch_is_rejected() -> None:
    metadata = MetadataCache()
    metadata.update(update(epoch=7))

    response = metadata.update(replace(update(epoch=7, brokers=()), controller_id=2))

    assert response is ErrorCode.STALE_CONTROLLER_EPOCH
    assert (metadata.controller_id, set(metadata.brokers)) == (1, {1, 2})


@pytest.mark.parametrize("name", ["a" * 250, "", "..", "../ids", "nu\0ll"])
def test_topic_with_an_invalid_name_is_skipped(name: str) -> None:
    metadata = MetadataCache()
    with structlog.testing.capture_logs() as events:
        listed = update(topic(name, state(0, 1, (1,), (1,))), topic("b", state(0, 1, (1,), (1,))))
        deleted = update(topic(name, state(0, -2, (), ())))
        assert metadata.new_topics(listed) == ["b"]
        assert [metadata.update(listed), metadata.update(deleted)] == [ErrorCode.NO_ERROR] * 2

    assert [topic.topic_name for topic in describe(metadata).topics] == ["b"]
    assert [event["topic"] for event in events] == [name[:249]] * 2


@pytest.mark.parametrize("host", ["h" * 256, "half-\ud800"])
def test_broker_without_a_usable_address_is_skipped(host: str) -> None:
    metadata = MetadataCache()
    unusable = UpdateMetadataBroker(
        id=3, endpoints=(UpdateMetadataEndpoint(port=1, host=host, listener="ADMIN", security_protocol=0),)
    )
    with structlog.testing.capture_logs() as events:
        metadata.update(update(brokers=(*live(1), unusable, UpdateMetadataBroker(id=4, endpoints=()))))

    assert [broker.node_id for broker in describe(metadata).brokers] == [1]
    assert [event["broker_id"] for event in events] == [3, 4]


@pytest.mark.parametrize("value", ["x" * 40_000, "\u0661" * 20_000, "half-\ud800"], ids=["long", "wide", "half"])
def test_config_that_no_string_can_hold_is_skipped(value: str) -> None:
    metadata = MetadataCache()
    metadata.update(update(topic("a", state(0, 1, (1,), (1,)))))
    with structlog.testing.capture_logs() as events:
        metadata.set_configs("a", {"comment": value, value: "5", "retention.ms": "5"})

    assert describe(metadata).topics[0].config_entries == (ConfigEntry(config_key="retention.ms", config_value="5"),)
    assert sorted(event["key"] for event in events) == sorted(["'comment'", ascii(value[:100])])


def test_full_update_removes_topics_that_it_does_not_list() -> None:
    metadata = MetadataCache()
    metadata.update(
        update(topic("a", state(0, 1, (1,), (1,)), state(1, 1, (1,), (1,))), topic("b", state(0, 2, (2,), (2,))))
    )
    metadata.update(update(topic("a", state(1, 2, (2,), (2,)))))
    assert [partition.leader for partition in describe(metadata, "a").topics[0].partitions] == [1, 2]
    assert set(metadata.topics) == {"a", "b"}

    metadata.update(update(topic("b", state(0, 1, (1,), (1,))), everything=True))

    assert [topic.topic_name for topic in describe(metadata).topics] == ["b"]


def test_recreated_topic_has_no_partitions_of_the_deleted_one() -> None:
    metadata = MetadataCache()
    metadata.update(update(topic("a", state(0, 1, (1,), (1,)), state(1, 1, (1,), (1,)))))
    metadata.update(update(topic("a", state(0, -2, (), ()), state(1, -2, (), ()))))
    assert describe(metadata, "a").topics[0].topic_error_code == 3

    metadata.update(update(topic("a", state(0, 1, (1,), (1,)), state(1, 1, (1,), (1,)))))
    metadata.update(update(topic("a", state(0, 2, (2,), (2,)), topic_id=SECOND)))

    assert [partition.leader for partition in describe(metadata, "a").topics[0].partitions] == [2]


updates = st.lists(
    st.one_of(
        st.tuples(st.just("state"), st.sampled_from("abcd"), st.integers(0, 3), st.integers(-2, 3)),
        st.tuples(st.just("config"), st.sampled_from("abcd"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("brokers"), st.just(""), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("respond"), st.sampled_from("abcd"), st.integers(0, 1), st.just(0)),
    ),
    max_size=40,
)


@given(updates)
def test_encoded_parts_equal_a_fresh_encoding(steps: list[tuple[str, str, int, int]]) -> None:
    metadata = MetadataCache()
    for step, name, number, leader in steps:
        if step == "state":
            metadata.update(update(topic(name, state(number, leader, (1,), (1, 2))), brokers=live(*metadata.brokers)))
        elif step == "config":
            metadata.set_configs(name, {"retention.ms": str(number)} if number else {})
        elif step == "brokers":
            metadata.update(update(brokers=live(*range(1, number + 1))))
        else:
            metadata.response_body(number, ())
            metadata.response_body(number, (name,))

        fresh = MetadataCache()
        fresh.brokers, fresh.configs = metadata.brokers, metadata.configs
        fresh.topics.update(metadata.topics)
        for version in (0, 1):
            assert metadata.response_body(version, ()) == fresh.response_body(version, ())
            assert metadata.response_body(version, ("a", "d")) == fresh.response_body(version, ("a", "d"))
