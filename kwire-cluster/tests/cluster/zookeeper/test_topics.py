"""Tests of topic registrations and partition states."""

from __future__ import annotations

import json
import sys
import uuid

import pytest

from kwire_cluster.zookeeper import PartitionState, TopicRegistration, ZnodeError
from tests.for_rows import for_rows

TOPIC_ID = uuid.UUID("431072b8-c622-4095-9462-371d6cb3bc28")


@for_rows("version", [b"1", b"2", b"3", b"99", b'"x"', b"null"])
def test_version_of_a_topic_is_ignored(version: bytes) -> None:
    data = b'{"version":' + version + b',"partitions":{"0":[1]},"topic_id":"QxByuMYiQJWUYjcdbLO8KA"}'
    assert TopicRegistration.decode(data) == TopicRegistration({0: (1,)}, TOPIC_ID)


@for_rows(
    ("data", "topic"),
    [
        (b"{}", TopicRegistration({})),
        (b'{"partitions":{}}', TopicRegistration({})),
        (b'{"partitions":{"0":[1,1],"7":[],"+3":[-1]}}', TopicRegistration({0: (1, 1), 7: (), 3: (-1,)})),
        (b'{"topic_id":"QxByuMYiQJWUYjcdbLO8KA=="}', TopicRegistration({}, TOPIC_ID)),
        (b'{"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ"}', TopicRegistration({}, uuid.UUID(int=1))),
        (
            b'{"partitions":{"0":[1,2,3]},"adding_replicas":{"0":[3],"none":[4]},"removing_replicas":{"0":[1]}}',
            TopicRegistration({0: (1, 2, 3)}, None, {0: (3,)}, {0: (1,)}),
        ),
    ],
)
def test_registration_that_kafka_accepts_is_decoded(data: bytes, topic: TopicRegistration) -> None:
    assert TopicRegistration.decode(data) == topic


@for_rows(
    ("data", "key"),
    [
        (b"", ""),
        (b"{x", ""),
        (b"[]", ""),
        (b'{"partitions":{"a":[1]}}', "partitions.a"),
        (b'{"partitions":{"1_0":[1]}}', "partitions.1_0"),
        (b'{"partitions":{"4294967296":[1]}}', "partitions.4294967296"),
        (b'{"partitions":{"0":["1"]}}', "partitions.0"),
        (b'{"partitions":{"0":[1.0]}}', "partitions.0"),
        (b'{"partitions":{"0":[true]}}', "partitions.0"),
        (b'{"partitions":{"0":[2147483648]}}', "partitions.0"),
        (b'{"partitions":{"0":null}}', "partitions.0"),
        (b'{"partitions":[]}', "partitions"),
        (b'{"partitions":{"0":[1]},"adding_replicas":null}', "adding_replicas"),
        (b'{"partitions":{"0":[1]},"adding_replicas":{"0":["x"]}}', "adding_replicas.0"),
        (b'{"topic_id":"not valid!!"}', "topic_id"),
        (b'{"topic_id":"AAAA"}', "topic_id"),
        (b'{"topic_id":"431072b8-c622-4095-9462-371d6cb3bc28"}', "topic_id"),
        (b'{"topic_id":"QxByuMYiQJWUYjcdbLO8+A"}', "topic_id"),
        (b'{"topic_id":null}', "topic_id"),
        (b'{"topic_id":5}', "topic_id"),
        (b'{"topic_id":""}', "topic_id"),
    ],
)
def test_registration_that_kafka_rejects_is_an_error(data: bytes, key: str) -> None:
    """Kafka 3.9 does not create such a topic, and no controller starts after the next failover until it is deleted.

    A znode that is not JSON is an error too: Kafka treats it as a topic without partitions and overwrites it.
    """
    with pytest.raises(ZnodeError) as failed:
        TopicRegistration.decode(data, "/brokers/topics/t")
    assert (failed.value.path, failed.value.key) == ("/brokers/topics/t", key)
    assert str(failed.value).startswith(f"/brokers/topics/t: {key}: " if key else "/brokers/topics/t: ")


def test_older_versions_are_encoded() -> None:
    topic = TopicRegistration({0: (1, 2)}, TOPIC_ID, {0: (2,)}, {})
    assert json.loads(topic.encode(version=1)) == {"version": 1, "partitions": {"0": [1, 2]}}
    assert json.loads(topic.encode(version=2)) == {
        "version": 2, "partitions": {"0": [1, 2]}, "adding_replicas": {"0": [2]}, "removing_replicas": {},
    }  # fmt: skip
    assert json.loads(topic.encode())["topic_id"] == "QxByuMYiQJWUYjcdbLO8KA"


@for_rows("key", ["leader", "leader_epoch", "isr", "controller_epoch"])
def test_partition_state_requires_every_key(key: str) -> None:
    values = {"leader": 1, "leader_epoch": 0, "isr": [1], "controller_epoch": 1}
    assert PartitionState.decode(json.dumps(values).encode()) == PartitionState(1, 0, (1,), 1)
    del values[key]
    for _ in range(2):  # the cached error of one path is not used for another
        with pytest.raises(ZnodeError) as failed:
            PartitionState.decode(json.dumps(values).encode(), "/p")
        assert (failed.value.path, failed.value.key) == ("/p", key)
    with pytest.raises(ZnodeError, match="/q: leader_recovery_state: expected 0 or 1, found 2"):
        PartitionState.decode(
            json.dumps(values | {key: [1] if key == "isr" else 1, "leader_recovery_state": 2}).encode(), "/q"
        )


def test_equal_partition_states_are_shared() -> None:
    """A controller keeps about 100,000 partition states in memory."""
    data = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
    other = b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":1,"isr":[1,2]}'
    assert PartitionState.decode(data) is PartitionState.decode(bytes(bytearray(data)))
    state, another = PartitionState.decode(data), PartitionState.decode(other)
    assert state.isr is another.isr
    assert sys.getsizeof(state) <= 100
    topic = TopicRegistration.decode(b'{"partitions":{"0":[1,2],"1":[2,1],"2":[1,2]}}')
    assert topic.partitions[0] is topic.partitions[2] is state.isr
