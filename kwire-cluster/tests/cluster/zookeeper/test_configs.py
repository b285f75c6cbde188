"""Tests of configs and of the three formats of config change notifications."""

from __future__ import annotations

import json

import pytest

from kwire_cluster.zookeeper import ConfigChangeNotification, EntityConfig, ZnodeError, notification_format
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY, NotificationFormat, desanitize, sanitize
from tests.for_rows import for_rows


@for_rows("data", [b"", b"{x", b"[]", b"5", b"{}", b'{"version":7}', b'{"config":null}', b'{"config":[]}'])
def test_data_without_configs_are_empty(data: bytes) -> None:
    assert dict(EntityConfig.decode(data).config) == {}


def test_config_value_must_be_a_string() -> None:
    with pytest.raises(ZnodeError, match=r"/config/topics/t: config.retention.ms: expected a string, found 5"):
        EntityConfig.decode(b'{"version":1,"config":{"retention.ms":5}}', EntityConfig.path("topics", "t"))


@for_rows(
    ("release", "form"),
    [((0, 8, 1), "quoted"), ((0, 8, 2, 2), "quoted"), ((0, 9, 0), "v1"), ((0, 10, 0, 1), "v1"), ((0, 10, 1), "v2"),
     ((3, 9), "v2")],
)  # fmt: skip
def test_notification_format_of_each_release(release: tuple[int, ...], form: str) -> None:
    assert notification_format(release) == form


@for_rows(
    ("form", "data"),
    [
        ("quoted", b'"orders"'),
        ("v1", b'{"version":1,"entity_type":"topics","entity_name":"orders"}'),
        ("v2", b'{"version":2,"entity_path":"topics/orders"}'),
    ],
)
def test_notification_formats(form: NotificationFormat, data: bytes) -> None:
    change = ConfigChangeNotification("topics/orders")
    assert change.encode(form) == data
    assert ConfigChangeNotification.decode(data) == change
    assert (change.entity_type, change.entity_name) == ("topics", "orders")


@for_rows(("form", "path"), [("quoted", "clients/c"), ("v1", "brokers/1"), ("v1", "users/u")])
def test_old_format_rejects_later_entity_types(form: NotificationFormat, path: str) -> None:
    with pytest.raises(ValueError, match=f"format {form} does not support {path}"):
        ConfigChangeNotification(path).encode(form)
    assert ConfigChangeNotification.decode(ConfigChangeNotification(path).encode()) == ConfigChangeNotification(path)


@for_rows(
    ("data", "key"),
    [
        (b"orders", ""),
        (b"[]", ""),
        (b'{"version":3,"entity_path":"topics/t"}', "version"),
        (b'{"entity_path":"topics/t"}', "version"),
        (b'{"version":2,"entity_path":"topics"}', "entity_path"),
        (b'{"version":2,"entity_path":"topics/"}', "entity_path"),
        (b'{"version":2,"entity_path":"topics/t/"}', "entity_path"),
        (b'{"version":2,"entity_path":"nobody/t"}', "entity_path"),
        (b'{"version":1,"entity_type":"brokers","entity_name":"1"}', "entity_type"),
        (b'{"version":1,"entity_type":"topics"}', "entity_name"),
    ],
)
def test_notification_that_kafka_ignores_is_rejected(data: bytes, key: str) -> None:
    with pytest.raises(ZnodeError) as failed:
        ConfigChangeNotification.decode(data, "/config/changes/config_change_0000000001")
    assert failed.value.key == key


def test_znode_names_of_entities() -> None:
    assert sanitize("a b/ü*+<>") == "a%20b%2F%C3%BC%2A%2B%3C%3E"
    assert desanitize(sanitize("a b/ü*+<>~")) == "a b/ü*+<>~"
    assert EntityConfig.path("users", f"{sanitize('u@x')}/clients/{DEFAULT_ENTITY}") == (
        "/config/users/u%40x/clients/<default>"
    )
    assert json.loads(EntityConfig({"k": "\u00e9"}).encode()) == {"version": 1, "config": {"k": "\u00e9"}}
    assert ConfigChangeNotification.path() == "/config/changes/config_change_"
