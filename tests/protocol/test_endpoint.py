"""Parsing of broker addresses."""

from __future__ import annotations

import pytest

from kwire.protocol import Endpoint


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("broker-1:9093", Endpoint("broker-1", 9093)),
        ("broker-1", Endpoint("broker-1", 9092)),
        (" 10.0.0.1:1 ", Endpoint("10.0.0.1", 1)),
        ("[::1]:9093", Endpoint("::1", 9093)),
        ("[::1]", Endpoint("::1", 9092)),
        ("fe80::1", Endpoint("fe80::1", 9092)),
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
]


@pytest.mark.parametrize("text", INVALID_ADDRESSES, ids=ascii)
def test_parse_rejects_invalid_address(text: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a broker"):
        Endpoint.parse(text)


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
