"""Tests of all znode classes.

Each sample comes from "Kafka data structures in Zookeeper", KIP-584, or Kafka 3.9.1, with the expected decoded value.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire.cluster.zookeeper
from kwire.cluster.zookeeper import (
    AclChangeNotification,
    AclEntry,
    ActiveController,
    BrokerEndpoint,
    BrokerRegistration,
    ClusterId,
    ConfigChangeNotification,
    ConsumerOffset,
    ConsumerOwner,
    ConsumerRegistration,
    ControllerEpoch,
    DeletionMarker,
    EntityConfig,
    FeaturesZnode,
    FinalizedVersionRange,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionReassignment,
    PartitionState,
    PreferredReplicaElection,
    ProducerIdBlock,
    ReassignPartitions,
    ResourceAcls,
    SupportedVersionRange,
    TopicPartition,
    TopicRegistration,
    ZnodeError,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Sample(NamedTuple):
    source: str
    path: str
    data: bytes
    expected: Any


SAMPLES = [
    Sample(
        "wiki: topic",
        TopicRegistration.path("foo"),
        b'{"version": 1, "partitions": {"0": [0, 1, 3] } }',
        TopicRegistration({0: (0, 1, 3)}),
    ),
    Sample(
        "Kafka 3.9.1: topic",
        TopicRegistration.path("foo"),
        b'{"partitions":{"0":[1,2]},"topic_id":"QxByuMYiQJWUYjcdbLO8KA","adding_replicas":{},"removing_replicas":{},'
        b'"version":3}',
        TopicRegistration({0: (1, 2)}, uuid.UUID("431072b8-c622-4095-9462-371d6cb3bc28")),
    ),
    Sample(
        "wiki: partition",
        PartitionState.path("foo", 0),
        b'{ "version": 1, "isr": [0,1], "leader": 0, "controller_epoch": 1, "leader_epoch": 0 }',
        PartitionState(leader=0, leader_epoch=0, isr=(0, 1), controller_epoch=1),
    ),
    Sample(
        "Kafka 3.9.1: partition",
        PartitionState.path("foo", 0),
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}',
        PartitionState(leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1),
    ),
    Sample(
        "Kafka 3.2: partition recovering from an unclean election",
        PartitionState.path("foo", 0),
        b'{"controller_epoch":4,"leader":1,"version":1,"leader_epoch":9,"isr":[1],"leader_recovery_state":1}',
        PartitionState(leader=1, leader_epoch=9, isr=(1,), controller_epoch=4, recovering=True),
    ),
    Sample(
        "wiki: broker of 0.8",
        BrokerRegistration.path(0),
        b'{ "version": 1, "host": "192.168.1.148", "port": 9092, "jmx_port": 9999 }',
        BrokerRegistration((BrokerEndpoint("PLAINTEXT", "192.168.1.148", 9092),), jmx_port=9999, version=1),
    ),
    Sample(
        "wiki: broker of 0.9, with its missing colons added",
        BrokerRegistration.path(0),
        b'{ "version":2, "host":"localhost", "port":9092, "jmx_port":9999, "timestamp":"2233345666",'
        b'"endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"] }',
        BrokerRegistration(
            (BrokerEndpoint("PLAINTEXT", "host1", 9092), BrokerEndpoint("SSL", "host1", 9093, "SSL")),
            jmx_port=9999,
            timestamp=2233345666,
            version=2,
        ),
    ),
    Sample(
        "wiki: broker of 0.10",
        BrokerRegistration.path(0),
        b'{ "version":3, "host":"localhost", "port":9092, "jmx_port":9999, "timestamp":"2233345666",'
        b'"endpoints": ["PLAINTEXT://host1:9092", "SSL://host1:9093"], "rack": "us-east-1c" }',
        BrokerRegistration(
            (BrokerEndpoint("PLAINTEXT", "host1", 9092), BrokerEndpoint("SSL", "host1", 9093, "SSL")),
            jmx_port=9999,
            rack="us-east-1c",
            timestamp=2233345666,
            version=3,
        ),
    ),
    Sample(
        "KIP-584: broker",
        BrokerRegistration.path(0),
        b'{"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","REPLICATION":"PLAINTEXT","EXTERNAL":"SASL_SSL"},'
        b'"endpoints":["INTERNAL://kafka-0.kafka.def.cluster.local:9071",'
        b'"REPLICATION://kafka-0.kafka.abc.cluster.local:9072","EXTERNAL://b3-kfc-mnope.us.clusterx:9092"],"rack":"0",'
        b'"jmx_port":7203,"host":"kafka-0.kafka.def.cluster.local","timestamp":"1579041366882","port":9071,"version":5,'
        b'"features":{"group_coordinator":{"min_version":1,"max_version":3},'
        b'"transaction_coordinator":{"min_version":1,"max_version":4}}}',
        BrokerRegistration(
            (
                BrokerEndpoint("INTERNAL", "kafka-0.kafka.def.cluster.local", 9071),
                BrokerEndpoint("REPLICATION", "kafka-0.kafka.abc.cluster.local", 9072),
                BrokerEndpoint("EXTERNAL", "b3-kfc-mnope.us.clusterx", 9092, "SASL_SSL"),
            ),
            jmx_port=7203,
            rack="0",
            features={
                "group_coordinator": SupportedVersionRange(1, 3),
                "transaction_coordinator": SupportedVersionRange(1, 4),
            },
            timestamp=1579041366882,
        ),
    ),
    Sample(
        "Kafka 3.9.1: broker",
        BrokerRegistration.path(1),
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
        b'"endpoints":["PLAINTEXT://127.0.0.1:19091"],"jmx_port":-1,"port":19091,"host":"127.0.0.1","version":5,'
        b'"timestamp":"1795219333912"}',
        BrokerRegistration((BrokerEndpoint("PLAINTEXT", "127.0.0.1", 19091),), timestamp=1795219333912),
    ),
    Sample("wiki: controller epoch", ControllerEpoch.path(), b"7", ControllerEpoch(7)),
    Sample("wiki: controller", ActiveController.path(), b"3", ActiveController(3)),
    Sample(
        "Kafka 0.8: controller",
        ActiveController.path(),
        b'{"version":1,"brokerid":1,"timestamp":"1795219334002"}',
        ActiveController(1, 1795219334002),
    ),
    Sample(
        "Kafka 3.9.1: controller",
        ActiveController.path(),
        b'{"version":2,"brokerid":1,"timestamp":"1795219334002","kraftControllerEpoch":-1}',
        ActiveController(1, 1795219334002, -1),
    ),
    Sample(
        "wiki: consumer with a static subscription",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "static", "subscription": {"topic1": 1, "topic2": 2} }',
        ConsumerRegistration("static", {"topic1": 1, "topic2": 2}),
    ),
    Sample(
        "wiki: consumer with a white list",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "white_list", "subscription": {"abc": 1}}',
        ConsumerRegistration("white_list", {"abc": 1}),
    ),
    Sample(
        "wiki: consumer with a black list",
        ConsumerRegistration.path("g", "c"),
        b'{ "version": 1, "pattern": "black_list", "subscription": {"abc": 1}}',
        ConsumerRegistration("black_list", {"abc": 1}),
    ),
    Sample(
        "Kafka 0.8.2: consumer",
        ConsumerRegistration.path("g", "c"),
        b'{"version":1,"subscription":{"t":2},"pattern":"static","timestamp":"1579041366882"}',
        ConsumerRegistration("static", {"t": 2}, 1579041366882),
    ),
    Sample("wiki: owner", ConsumerOwner.path("g", "t", 0), b"g_host-1-0", ConsumerOwner("g_host-1-0")),
    Sample("wiki: offset", ConsumerOffset.path("g", "t", 0), b"42", ConsumerOffset(42)),
    Sample("page, comment: offset", ConsumerOffset.path("g", "t", 0), b'{"offset": 42}', ConsumerOffset(42)),
    Sample(
        "wiki: reassignment",
        ReassignPartitions.path(),
        b'{ "version": 1, "partitions": [ { "topic": "Foo", "partition": 1, "replicas": [0, 1, 3] } ] }',
        ReassignPartitions((PartitionReassignment("Foo", 1, (0, 1, 3)),)),
    ),
    Sample(
        "wiki: preferred replica election",
        PreferredReplicaElection.path(),
        b'{ "version": 1, "partitions": [ { "topic": "Foo", "partition": 1 }, { "topic": "Bar", "partition": 0 } ] }',
        PreferredReplicaElection((TopicPartition("Foo", 1), TopicPartition("Bar", 0))),
    ),
    Sample("wiki: deletion", DeletionMarker.path("foo"), b"", DeletionMarker("foo")),
    Sample(
        "wiki: configs of a topic",
        EntityConfig.path("topics", "foo"),
        b'{ "version": 1, "config": { "config.a": "x", "config.b": "y" } }',
        EntityConfig({"config.a": "x", "config.b": "y"}),
    ),
    Sample(
        "Kafka 3.9.1: configs of a topic",
        EntityConfig.path("topics", "foo"),
        b'{"version":1,"config":{"retention.ms":"5000"}}',
        EntityConfig({"retention.ms": "5000"}),
    ),
    Sample(
        "wiki: config change of 0.8.1",
        ConfigChangeNotification.path(7),
        b'"topic_name"',
        ConfigChangeNotification("topics/topic_name"),
    ),
    Sample(
        "wiki: config change of 0.9",
        ConfigChangeNotification.path(7),
        b'{"version" : 1, "entity_type":"clients", "entity_name" : "client_id"}',
        ConfigChangeNotification("clients/client_id"),
    ),
    Sample(
        "Kafka 3.9.1: config change",
        ConfigChangeNotification.path(7),
        b'{"version":2,"entity_path":"topics/foo"}',
        ConfigChangeNotification("topics/foo"),
    ),
    Sample(
        "Kafka 0.9: ISR change",
        IsrChangeNotification.path(3),
        b'{"version":1,"partitions":[{"topic":"foo","partition":0}]}',
        IsrChangeNotification((TopicPartition("foo", 0),)),
    ),
    Sample(
        "wiki: access control list",
        ResourceAcls.path("Topic", "foo"),
        b'{"version": 1, "acls": [ { "host":"host1", "permissionType": "Allow","operation": "Read",'
        b'"principal": "User:alice"}]}',
        ResourceAcls((AclEntry("User:alice", "Allow", "Read", "host1"),)),
    ),
    Sample(
        "Kafka 3.9.1: ACL change",
        AclChangeNotification.path("literal", 1),
        b"TOPIC:i2",
        AclChangeNotification("Topic", "i2"),
    ),
    Sample(
        "Kafka 1.0: ACL change",
        AclChangeNotification.path("literal", 1),
        b"Topic:i1",
        AclChangeNotification("Topic", "i1"),
    ),
    Sample(
        "Kafka 3.9.1: change of a prefixed ACL",
        AclChangeNotification.path("prefixed", 1),
        b'{"version":1,"resourceType":"TOPIC","name":"i-pref-","patternType":"PREFIXED"}',
        AclChangeNotification("Topic", "i-pref-", "prefixed"),
    ),
    Sample(
        "Kafka 3.9.1: cluster id",
        ClusterId.path(),
        b'{"version":"1","id":"E618TkrETQ6jWU3bwxWn-w"}',
        ClusterId("E618TkrETQ6jWU3bwxWn-w"),
    ),
    Sample(
        "KIP-584: features, with levels of 1 and its missing brace added",
        FeaturesZnode.path(),
        b'{"version":0,"status":1,"features":{"group_coordinator":{"min_version_level":1,"max_version_level":3},'
        b'"consumer_offsets_topic_schema":{"min_version_level":1,"max_version_level":4}}}',
        FeaturesZnode(
            True,
            {
                "group_coordinator": FinalizedVersionRange(1, 3),
                "consumer_offsets_topic_schema": FinalizedVersionRange(1, 4),
            },
        ),
    ),
    Sample(
        "Kafka: failed log directory",
        LogDirEventNotification.path(0),
        b'{"version":1,"broker":3,"event":1}',
        LogDirEventNotification(3),
    ),
    Sample(
        "Kafka: producer ids",
        ProducerIdBlock.path(),
        b'{"version":1,"broker":0,"block_start":"0","block_end":"999"}',
        ProducerIdBlock(0, 0, 999),
    ),
]
CLASSES = sorted({type(sample.expected) for sample in SAMPLES}, key=lambda cls: cls.__name__)
JSON_SAMPLES = [
    sample
    for sample in SAMPLES
    if sample.data.startswith(b"{") and not isinstance(sample.expected, AclChangeNotification | DeletionMarker)
]


def by_source(value: Sample | type) -> str:
    return value.source if isinstance(value, Sample) else value.__name__


@pytest.mark.parametrize("sample", SAMPLES, ids=by_source)
def test_sample_is_decoded(sample: Sample) -> None:
    assert type(sample.expected).decode(sample.data, sample.path) == sample.expected


@pytest.mark.parametrize("sample", SAMPLES, ids=by_source)
def test_encoded_sample_decodes_to_the_same_value(sample: Sample) -> None:
    assert type(sample.expected).decode(sample.expected.encode(), sample.path) == sample.expected


@pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample.source.startswith("Kafka 3.9.1")], ids=by_source
)
def test_encoded_sample_equals_the_data_of_kafka(sample: Sample) -> None:
    written = sample.expected.encode()
    if sample.data.startswith(b"{"):
        assert json.loads(written) == json.loads(sample.data)
    else:
        assert written == sample.data


def test_partition_state_is_encoded_byte_for_byte_as_in_kafka() -> None:
    [data] = [sample.data for sample in SAMPLES if sample.source == "Kafka 3.9.1: partition"]
    assert PartitionState.decode(data).encode() == data


@pytest.mark.parametrize("sample", JSON_SAMPLES, ids=by_source)
def test_unknown_keys_are_kept_and_written_back(sample: Sample) -> None:
    unknown = {"z": [1.5, None, {"deep": "\u00e9\ud800"}], "large": 10**30, "": True}
    data = json.dumps(json.loads(sample.data) | unknown).encode()

    decoded = type(sample.expected).decode(data, sample.path)

    assert decoded != sample.expected
    written = json.loads(decoded.encode())
    assert {key: written[key] for key in unknown} == unknown
    assert type(sample.expected).decode(decoded.encode(), sample.path) == decoded


NESTED: list[tuple[Any, dict[str, Any], str]] = [
    (
        ReassignPartitions,
        {"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["any"]}]},
        "log_dirs",
    ),
    (
        ResourceAcls,
        {
            "version": 1,
            "acls": [{"principal": "User:a", "permissionType": "Deny", "operation": "Read", "host": "*", "since": 5}],
        },
        "since",
    ),
    (
        FeaturesZnode,
        {"version": 0, "status": 1, "features": {"f": {"min_version_level": 1, "max_version_level": 2, "more": "x"}}},
        "more",
    ),
    (
        BrokerRegistration,
        {
            "version": 5,
            "jmx_port": -1,
            "endpoints": [],
            "features": {"f": {"min_version": 1, "max_version": 2, "n": 0}},
        },
        '"n"',
    ),
]


@pytest.mark.parametrize(("cls", "values", "key"), NESTED, ids=[cls.__name__ for cls, _, _ in NESTED])
def test_unknown_keys_of_nested_objects_are_kept(cls: Any, values: dict[str, Any], key: str) -> None:
    decoded = cls.decode(json.dumps(values).encode(), "/x")
    assert key in decoded.encode().decode()
    assert cls.decode(decoded.encode(), "/x") == decoded


@pytest.mark.parametrize("sample", SAMPLES, ids=by_source)
def test_decoded_values_are_immutable(sample: Sample) -> None:
    for name in type(sample.expected).__slots__:
        with pytest.raises(AttributeError):
            setattr(sample.expected, name, None)
        value = getattr(sample.expected, name)
        if hasattr(value, "keys"):
            with pytest.raises(TypeError):
                value["new"] = 1


def test_value_copies_the_mapping_it_is_created_from() -> None:
    partitions = {0: (1,)}
    topic = TopicRegistration(partitions)
    partitions[1] = (2,)
    assert topic == TopicRegistration({0: (1,)})


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def decode_or_error(cls: Any, data: bytes) -> Any:
    """Return the decoded value, or None after an error with the path."""
    try:
        return cls.decode(data, "/the/path")
    except ZnodeError as error:
        caught = error
    assert caught.path == "/the/path"
    assert str(caught).startswith("/the/path: ")
    assert caught.reason
    return None


@pytest.mark.parametrize("cls", CLASSES, ids=by_source)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error(cls: Any, data: bytes) -> None:
    decode_or_error(cls, data)


@pytest.mark.parametrize("sample", JSON_SAMPLES, ids=by_source)
@given(data=st.data())
def test_any_value_of_any_key_is_a_value_or_an_error(sample: Sample, data: st.DataObject) -> None:
    cls = type(sample.expected)
    values = json.loads(sample.data)
    where = values
    while True:  # choose any nested value
        key = data.draw(st.sampled_from(sorted(where)) if isinstance(where, dict) else st.integers(0, len(where) - 1))
        if not isinstance(where[key], dict | list) or not where[key] or data.draw(st.booleans()):
            break
        where = where[key]
    if isinstance(where, dict) and data.draw(st.booleans()):
        del where[key]
    else:
        where[key] = data.draw(JSON_VALUES)

    value = decode_or_error(cls, json.dumps(values).encode())

    if value is not None:
        assert cls.decode(value.encode(), sample.path) == value


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (b"1795219334002", 1795219334002),
        (b'"1795219334002"', 1795219334002),
        (b"9223372036854775807", 9223372036854775807),
        (b"9223372036854775808", None),
        (b'"9223372036854775808"', None),
        (b"10000000000000000000", None),
        (b"-10000000000000000000", None),
    ],
)
def test_timestamp_beyond_64_bits_stays_an_unknown_key(timestamp: bytes, expected: int | None) -> None:
    value = ActiveController.decode(b'{"version":1,"brokerid":1,"timestamp":%s}' % timestamp)

    assert value.timestamp == expected
    assert value.unknown == (() if expected is not None else (("timestamp", timestamp.decode()),))
    assert ActiveController.decode(value.encode()) == value


@pytest.mark.parametrize("cls", CLASSES, ids=by_source)
@pytest.mark.parametrize(
    "data",
    [b"[" * 200_000, b"9" * 5_000, b'{"version":' + b"9" * 5_000 + b"}", b"\xff\xfe\x00", b"NaN", b'{"version":NaN}'],
    ids=["deep", "long", "long inside", "no text", "NaN", "NaN inside"],
)
def test_data_that_break_a_parser_are_an_error(cls: Any, data: bytes) -> None:
    value = decode_or_error(cls, data)
    assert value is None or cls in {DeletionMarker, EntityConfig, ConsumerOwner}


@pytest.mark.parametrize(
    "data",
    [
        b' \n{"version":1,"config":{"a":"x"}} and more',  # Jackson reads only the first value
        b'{"config":{"a":"old"},"config":{"a":"x"}}',  # the last of several equal keys counts
        '{"config":{"a":"x"}}'.encode("utf-16"),  # Jackson detects the encoding
        '\ufeff{"config":{"a":"x"}}'.encode(),
    ],
)
def test_json_is_decoded_as_by_jackson(data: bytes) -> None:
    assert EntityConfig.decode(data) == EntityConfig({"a": "x"})


def test_no_class_has_the_feature_path_of_kafka() -> None:
    """Kafka brokers act upon /feature, so no code builds this path."""
    for cls in CLASSES:
        arguments = {"topic": "t", "partition": 0, "group": "g", "consumer": "c", "broker_id": 1, "name": "n"}
        arguments |= {"entity_type": "topics", "resource_type": "Topic"}
        path: Callable[..., str] = cls.path
        parameters = path.__code__.co_varnames[: path.__code__.co_argcount]
        built = path(**{name: value for name, value in arguments.items() if name in parameters})
        assert re.match(r"/feature(/|$)", built) is None, cls
    package = Path(kwire.cluster.zookeeper.__file__).parent.parent
    literal = re.compile(r"""["']/feature["'/]""")
    found = [file.name for file in package.rglob("*.py") if literal.search(file.read_text(encoding="utf-8"))]
    assert found == ["store.py"]  # which rejects it


def test_samples_cover_the_path_of_every_class() -> None:
    assert [sample.path for sample in SAMPLES if sample.path.startswith("/")] == [sample.path for sample in SAMPLES]
    assert {sample.path for sample in SAMPLES} >= {
        "/brokers/topics/foo", "/brokers/topics/foo/partitions/0/state", "/brokers/ids/0", "/controller_epoch",
        "/controller", "/consumers/g/ids/c", "/consumers/g/owners/t/0", "/consumers/g/offsets/t/0",
        "/admin/reassign_partitions", "/admin/preferred_replica_election", "/admin/delete_topics/foo",
        "/config/topics/foo", "/config/changes/config_change_0000000007", "/cluster/id", "/features",
        "/isr_change_notification/isr_change_0000000003", "/kafka-acl/Topic/foo",
        "/kafka-acl-changes/acl_changes_0000000001", "/kafka-acl-extended-changes/acl_changes_0000000001",
        "/log_dir_event_notification/log_dir_event_0000000000", "/latest_producer_id_block",
    }  # fmt: skip
