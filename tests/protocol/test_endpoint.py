"""Addresses of brokers, as people write them."""

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
def test_an_address_is_a_host_and_a_port(text: str, endpoint: Endpoint) -> None:
    assert Endpoint.parse(text) == endpoint
    assert Endpoint.parse(str(endpoint)) == endpoint


NO_ADDRESSES = ["", ":9092", "host:", "host:0", "host:65536", "host:-1", "host:9o92", "[]:9092", "a\0b", "\udcff:9092"]


@pytest.mark.parametrize("text", NO_ADDRESSES, ids=ascii)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a broker"):
        Endpoint.parse(text)


def test_bootstrap_servers_come_as_one_text_or_several_and_each_counts_once() -> None:
    expected = (Endpoint("a", 1), Endpoint("b", 9092))
    assert Endpoint.parse_all("a:1, b,a:1,") == expected
    assert Endpoint.parse_all(["a:1", "b"]) == expected


def test_somebody_must_be_named() -> None:
    with pytest.raises(ValueError, match="no bootstrap server"):
        Endpoint.parse_all(" , ")
