"""The catalog of all znodes: it has every class, finds it by path, and its examples are what the classes write."""

from __future__ import annotations

import json

import pytest

from kwire_cluster import zookeeper
from kwire_cluster.zookeeper.operations import Stat, Znode
from kwire_zookeeper_tools.verbs.zookeeper.decode import _fields
from kwire_zookeeper_tools.znode_kinds import ZNODES, find_znode_kind
from scripts.docs_znodes import znodes_page
from tests.cluster.zookeeper.znode_samples import SAMPLES

STAT = Stat(*range(len(Stat._fields)))


def test_every_class_of_znodes_is_in_the_catalog() -> None:
    classes = {name for name in dir(zookeeper) if hasattr(getattr(zookeeper, name), "decode")}
    assert classes <= {type(kind.example).__name__ for kind in ZNODES}


def test_every_sample_is_found_by_its_path_and_decoded() -> None:
    for sample in SAMPLES:
        kind = find_znode_kind(sample.path)
        assert kind is not None, sample.path
        assert isinstance(sample.expected, type(kind.example)), sample.path
        fields = kind.decode(sample.data, sample.path)
        assert all(getattr(sample.expected, name) == value for name, value in fields.items() if name != "warnings"), (
            sample.path
        )


def test_examples_are_read_back() -> None:
    for kind in ZNODES:
        if kind.example is not None and kind.example.encode():
            assert type(kind.example).decode(kind.example.encode(), kind.path) == kind.example
        assert find_znode_kind(kind.path.replace("{", "").replace("}", "").replace(" ", "")) is kind


def test_decoded_znode_hides_credentials() -> None:
    config = {"SCRAM-SHA-256": "salt=a,stored_key=b", "ssl.key.password": "hunter2", "retention.ms": "7"}
    znode = Znode(json.dumps({"version": 1, "config": config}).encode(), STAT)
    [config_field] = _fields("/config/users/alice", znode)
    assert json.loads(config_field.value or "") == {
        "SCRAM-SHA-256": "<secret>", "ssl.key.password": "<secret>", "retention.ms": "7"
    }  # fmt: skip
    [data] = _fields("/unknown", Znode(b'{"password": "hunter2"}', STAT))
    assert data.value == '{"password": "<secret>"}'
    assert _fields("/unknown", Znode(b"\xff\x00", STAT))[0].value == "\\xff\x00"


@pytest.mark.parametrize("data", [b"nope", b"[]", b'{"version":1}', b'{"version":1,"config":"a=b"}'])
def test_data_that_are_read_as_no_configs_are_named(data: bytes) -> None:
    """Kafka reads them as no configs as well, and does not say so."""
    fields = {field.field: field.value for field in _fields("/config/topics/orders", Znode(data, STAT))}
    assert fields["config"] == "{}"
    assert "/config/topics/orders: " in (fields["warnings"] or "")
    assert [field.field for field in _fields("/config/topics/orders", Znode(b'{"config":{}}', STAT))] == ["config"]


def test_corrected_features_are_named() -> None:
    levels = {"x": {"min_version_level": 0, "max_version_level": 3}}
    znode = Znode(json.dumps({"version": 0, "status": 1, "features": levels}).encode(), STAT)
    fields = {field.field: field.value for field in _fields("/features", znode)}
    assert "0 is below the lowest level and is read as 1" in (fields["warnings"] or "")


def test_page_has_a_section_for_each_znode() -> None:
    page = "\n".join(znodes_page())
    assert page.count("\n## `/") == len(ZNODES)
    assert "| `isr` | `tuple[int, ...]` | the in-sync replicas. |" in page
    assert '"topic_id":"QxByuMYiQJWUYjcdbLO8KA"' in page
