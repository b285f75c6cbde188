"""Spellings of values of configs: what brokers report after they were given another spelling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.client.admin.config_values import ConfigType, is_same_value
from tests.for_rows import for_rows

SPACES = st.text(" \t\n", max_size=2)


@for_rows(
    "type, stated, reported",
    [
        (ConfigType.BOOLEAN, "True", "true"),
        (ConfigType.LONG, "+604800000", "604800000"),
        (ConfigType.DOUBLE, ".5", "0.5"),
        (ConfigType.DOUBLE, "1", "1.0"),
        (ConfigType.DOUBLE, "5e-1d", "0.5"),
        (ConfigType.LIST, " compact ,\tdelete", "compact,delete"),
        (ConfigType.LIST, "a,,b", "a,,b"),
        (ConfigType.STRING, " gzip ", "gzip"),
    ],
)
def test_spellings_of_a_person_and_of_the_broker_are_equal(type: ConfigType, stated: str, reported: str) -> None:
    assert type.canonical(stated) == type.canonical(reported)
    assert is_same_value(reported, stated)


@for_rows(
    "type, one, other",
    [
        (ConfigType.LIST, "compact,delete", "delete,compact"),
        (ConfigType.STRING, "3.0", "3"),
        (ConfigType.STRING, "RULE:^CN=(.*?), OU=x$/$1/", "RULE:^CN=(.*?),OU=x$/$1/"),
        (ConfigType.STRING, "True", "true"),
        (ConfigType.LONG, "1", "10"),
        (ConfigType.UNKNOWN, "a", "a "),
    ],
)
def test_other_values_differ(type: ConfigType, one: str, other: str) -> None:
    assert type.canonical(one) != type.canonical(other)


@for_rows("type, invalid", [(ConfigType.BOOLEAN, "yes"), (ConfigType.INT, "1e8"), (ConfigType.DOUBLE, "half")])
def test_invalid_value_stays_as_it_is_for_the_broker_to_refuse(type: ConfigType, invalid: str) -> None:
    assert type.canonical(invalid) == invalid


@given(st.sampled_from(ConfigType), st.text())
def test_canonical_spelling_is_stable(type: ConfigType, text: str) -> None:
    once = type.canonical(text)
    assert type.canonical(once) == once


@given(st.integers(-(2**63), 2**63 - 1), SPACES, SPACES, st.sampled_from(("", "0", "00")))
def test_spellings_of_an_integer(number: int, before: str, after: str, zeros: str) -> None:
    sign = "-" if number < 0 else "+"
    digits = f"{zeros}{abs(number)}"[-19:] if len(f"{zeros}{abs(number)}") <= 19 else str(abs(number))
    assert ConfigType.LONG.canonical(f"{before}{sign}{digits}{after}") == str(number)
