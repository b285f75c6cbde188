"""Tests of all znode classes with the samples of each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire_cluster.zookeeper
from kwire_cluster.zookeeper import (
    ActiveController,
    BrokerRegistration,
    ConsumerOwner,
    DeletionMarker,
    EntityConfig,
    FeaturesZnode,
    PartitionState,
    ReassignPartitions,
    ResourceAcls,
    TopicRegistration,
    ZnodeError,
)
from tests.cluster.zookeeper.znode_samples import CLASSES, JSON_SAMPLES, SAMPLES, Sample, by_source
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable


@for_rows("sample", SAMPLES, ids=by_source)
def test_sample_is_decoded(sample: Sample) -> None:
    assert type(sample.expected).decode(sample.data, sample.path) == sample.expected


@for_rows("sample", SAMPLES, ids=by_source)
def test_encoded_sample_decodes_to_the_same_value(sample: Sample) -> None:
    assert type(sample.expected).decode(sample.expected.encode(), sample.path) == sample.expected


@for_rows("sample", [sample for sample in SAMPLES if sample.source.startswith("Kafka 3.9.1")], ids=by_source)
def test_encoded_sample_equals_the_data_of_kafka(sample: Sample) -> None:
    written = sample.expected.encode()
    if sample.data.startswith(b"{"):
        assert json.loads(written) == json.loads(sample.data)
    else:
        assert written == sample.data


def test_partition_state_is_encoded_byte_for_byte_as_in_kafka() -> None:
    [data] = [sample.data for sample in SAMPLES if sample.source == "Kafka 3.9.1: partition"]
    assert PartitionState.decode(data).encode() == data


@for_rows("sample", JSON_SAMPLES, ids=by_source)
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


@for_rows(("cls", "values", "key"), NESTED, ids=[cls.__name__ for cls, _, _ in NESTED])
def test_unknown_keys_of_nested_objects_are_kept(cls: Any, values: dict[str, Any], key: str) -> None:
    decoded = cls.decode(json.dumps(values).encode(), "/x")
    assert key in decoded.encode().decode()
    assert cls.decode(decoded.encode(), "/x") == decoded


@for_rows("sample", SAMPLES, ids=by_source)
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


@for_rows(
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


@for_rows("cls", CLASSES, ids=by_source)
@for_rows(
    "data",
    [b"[" * 200_000, b"9" * 5_000, b'{"version":' + b"9" * 5_000 + b"}", b"\xff\xfe\x00", b"NaN", b'{"version":NaN}'],
    ids=["deep", "long", "long inside", "no text", "NaN", "NaN inside"],
)
def test_data_that_break_a_parser_are_an_error(cls: Any, data: bytes) -> None:
    value = decode_or_error(cls, data)
    assert value is None or cls in {DeletionMarker, EntityConfig, ConsumerOwner}


@for_rows(
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
    package = Path(kwire_cluster.zookeeper.__file__).parent.parent
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
