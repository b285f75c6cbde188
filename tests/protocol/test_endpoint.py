"""Parsing of broker addresses."""

from __future__ import annotations

import re

import pytest

from kwire.protocol import Endpoint
from kwire.protocol.endpoint import SECURITY_PROTOCOLS


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("broker-1:9093", Endpoint("broker-1", 9093)),
        ("broker-1", Endpoint("broker-1", 9092)),
        (" 10.0.0.1:1 ", Endpoint("10.0.0.1", 1)),
        ("[::1]:9093", Endpoint("::1", 9093)),
        ("[::1]", Endpoint("::1", 9092)),
        ("fe80::1", Endpoint("fe80::1", 9092)),
        ("[fe80::1%eth0]:9093", Endpoint("fe80::1%eth0", 9093)),
        ("2001:db8:0:0:0:0:0:1", Endpoint("2001:db8:0:0:0:0:0:1", 9092)),
        ("::ffff:10.0.0.1", Endpoint("::ffff:10.0.0.1", 9092)),
        ("broker-1.example.com.:9093", Endpoint("broker-1.example.com.", 9093)),
        ("BROKER_1:9093", Endpoint("BROKER_1", 9093)),
        ("b\N{LATIN SMALL LETTER U WITH DIAERESIS}cher.example:9093", Endpoint("b\xfccher.example", 9093)),
        ("\thost:9093\n", Endpoint("host", 9093)),
    ],
)
def test_parse_address(text: str, endpoint: Endpoint) -> None:
    assert Endpoint.parse(text) == endpoint
    assert Endpoint.parse(str(endpoint)) == endpoint


INVALID_ADDRESSES = [
    "",
    ":9092",
    "host:",
    "host:0",
    "host:65536",
    "host:-1",
    "host:9o92",
    "[]:9092",
    "a\0b",
    "a b:9092",
    "https://a:9092",
    "a:1:2",
    "[a]:b:9092",
    "::g",
    "\udcff:9092",
    "host:9092:",
    "host:+9092",
    "host:" + "9" * 5000,
    "a:1 b:2",
    "a:1;b:2",
    "a:1\nb:2",
    "a,b",
    '"host:9092"',
    "'host'",
    "host\N{FULLWIDTH COLON}9092",
    "a..b:9092",
    ".:9092",
    "h" * 64 + ":9092",
    "[::1]9092",
    "[[::1]]:9092",
    "fe80::1%eth0:9092:1",
    "://host:9092",
    "kafka+ssl://host:9092",
    "SASL_SSL://host:9092",
    "EXTERNAL://host:9092",
    "user:password@host:9092",
]


@pytest.mark.parametrize("text", INVALID_ADDRESSES, ids=ascii)
def test_parse_rejects_invalid_address(text: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a broker"):
        Endpoint.parse(text)


@pytest.mark.parametrize(
    "text", ["::1:9092", "2001:db8::1:9092", "2001:db8:0:0:0:0:0:1:9092", "fe80::1%eth0:9092", "::ffff:10.0.0.1:9092"]
)
def test_address_that_may_be_one_with_a_port_needs_brackets(text: str) -> None:
    host = text.removesuffix(":9092")
    with pytest.raises(ValueError, match=re.escape(f"write [{host}]:9092")):
        Endpoint.parse(text)


@pytest.mark.parametrize("protocol", SECURITY_PROTOCOLS)
def test_protocol_in_front_must_be_the_one_of_the_connection(protocol: str) -> None:
    assert Endpoint.parse_all(f"{protocol}://a:1,{protocol.lower()}://[::1]:2", protocol) == (
        Endpoint("a", 1),
        Endpoint("::1", 2),
    )
    for other in set(SECURITY_PROTOCOLS) - {protocol}:
        with pytest.raises(ValueError, match=f"asks for {other}, and the connection has security.protocol={protocol}"):
            Endpoint.parse_all(f"a:1,{other}://b:2", protocol)


@pytest.mark.parametrize("text", ["user:secret@h:1", "SASL_SSL://user:secret@h:1", "kafka://:secret@h", "a:secret@b@h"])
def test_password_in_an_address_is_not_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r"\*\*\*@h") as raised:
        Endpoint.parse(text, "SASL_SSL")
    assert "secret" not in str(raised.value)


def test_parse_all_accepts_text_or_list_and_drops_duplicates() -> None:
    expected = (Endpoint("a", 1), Endpoint("b", 9092))
    assert Endpoint.parse_all("a:1, b,a:1,") == expected
    assert Endpoint.parse_all(["a:1", "b"]) == expected


def test_parse_all_rejects_empty_list() -> None:
    with pytest.raises(ValueError, match="no bootstrap servers given"):
        Endpoint.parse_all(" , ")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("broker-1", "broker-1"),
        ("broker-1.example.com.", "broker-1.example.com"),
        ("10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        (".", ""),
        ("a..", "a."),
    ],
)
def test_server_name_has_neither_final_dot_nor_zone(host: str, name: str) -> None:
    assert Endpoint(host, 9092).server_name == name
