"""Tests of broker registrations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire_cluster.zookeeper import BrokerRegistration, RegisteredEndpoint, SupportedVersionRange, ZnodeError
from tests.for_rows import for_rows

PLAIN = {"version": 2, "jmx_port": -1, "endpoints": ["PLAINTEXT://h:9092"]}


def decoded(values: dict[str, Any]) -> BrokerRegistration:
    return BrokerRegistration.decode(json.dumps(values).encode(), "/brokers/ids/1")


@for_rows(
    ("endpoint", "expected"),
    [
        ("PLAINTEXT://h:9092", RegisteredEndpoint("PLAINTEXT", "h", 9092)),
        ("sasl_ssl://h:9092", RegisteredEndpoint("SASL_SSL", "h", 9092, "SASL_SSL")),
        ("SSL://[::1]:9093", RegisteredEndpoint("SSL", "::1", 9093, "SSL")),
        ("PLAINTEXT://:9092", RegisteredEndpoint("PLAINTEXT", "", 9092)),
        ("PLAINTEXT://h:-1", RegisteredEndpoint("PLAINTEXT", "h", -1)),
    ],
)
def test_endpoint_is_decoded_and_encoded(endpoint: str, expected: RegisteredEndpoint) -> None:
    broker = decoded(PLAIN | {"endpoints": [endpoint]})
    assert broker.endpoints == (expected,)
    assert decoded(json.loads(broker.encode())) == broker


def test_listener_protocols_come_from_the_map() -> None:
    broker = decoded(PLAIN | {
        "version": 4, "endpoints": ["IN://h:1", "OUT://h:2"],
        "listener_security_protocol_map": {"IN": "PLAINTEXT", "OUT": "sasl_ssl"},
    })  # fmt: skip
    assert [endpoint.security_protocol for endpoint in broker.endpoints] == ["PLAINTEXT", "SASL_SSL"]
    assert broker.plaintext == RegisteredEndpoint("IN", "h", 1)


@for_rows(
    ("values", "key"),
    [
        (PLAIN | {"version": 0}, "version"),
        (PLAIN | {"version": "2"}, "version"),
        (PLAIN | {"jmx_port": None}, "jmx_port"),
        ({"jmx_port": -1, "endpoints": []}, "version"),
        ({"version": 2, "endpoints": []}, "jmx_port"),
        ({"version": 2, "jmx_port": -1}, "endpoints"),
        ({"version": 1, "jmx_port": -1, "port": 1}, "host"),
        ({"version": 1, "jmx_port": -1, "host": "h"}, "port"),
        (PLAIN | {"endpoints": ["PLAINTEXT://h"]}, "endpoints"),
        (PLAIN | {"endpoints": ["PLAINTEXT://h:99999999999"]}, "endpoints"),
        (PLAIN | {"endpoints": ["OWN://h:1"]}, "endpoints"),
        (PLAIN | {"endpoints": [5]}, "endpoints"),
        (PLAIN | {"listener_security_protocol_map": {"PLAINTEXT": "NONE"}}, "listener_security_protocol_map.PLAINTEXT"),
        (PLAIN | {"rack": 5}, "rack"),
        (PLAIN | {"features": {"f": {"min_version": 1}}}, "features.f.max_version"),
    ],
)
def test_malformed_registration_is_rejected(values: dict[str, Any], key: str) -> None:
    with pytest.raises(ZnodeError) as failed:
        decoded(values)
    assert (failed.value.path, failed.value.key) == ("/brokers/ids/1", key)


def test_null_values_and_invalid_timestamp_are_accepted() -> None:
    broker = decoded(PLAIN | {"rack": None, "features": None, "host": None, "port": -1, "timestamp": "yesterday"})
    assert (broker.rack, dict(broker.features), broker.timestamp) == (None, {}, None)
    assert json.loads(broker.encode())["timestamp"] == "yesterday"


@for_rows(
    ("version", "keys"),
    [
        (1, {"version", "host", "port", "jmx_port", "timestamp"}),
        (2, {"version", "host", "port", "jmx_port", "timestamp", "endpoints"}),
        (3, {"version", "host", "port", "jmx_port", "timestamp", "endpoints", "rack"}),
        (
            4,
            {"version", "host", "port", "jmx_port", "timestamp", "endpoints", "rack", "listener_security_protocol_map"},
        ),
    ],
)
def test_each_version_encodes_its_keys(version: int, keys: set[str]) -> None:
    broker = BrokerRegistration(
        (RegisteredEndpoint("PLAINTEXT", "h", 1),),
        rack="r",
        features={"f": SupportedVersionRange(1, 2)},
        timestamp=5,
        version=version,
    )
    assert set(json.loads(broker.encode())) == keys
    latest = BrokerRegistration(broker.endpoints, rack="r", features=broker.features, timestamp=5)
    assert set(json.loads(latest.encode())) == {
        *keys,
        "rack",
        "endpoints",
        "listener_security_protocol_map",
        "features",
    }


def test_registration_without_plaintext_endpoint_has_no_host() -> None:
    values = json.loads(BrokerRegistration((RegisteredEndpoint("SSL", "h", 1, "SSL"),)).encode())
    assert (values["host"], values["port"]) == (None, -1)
