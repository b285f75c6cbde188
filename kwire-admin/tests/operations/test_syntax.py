"""Syntaxes of arguments: what matches the pattern of the OpenAPI document is accepted, and nothing else is.

Parsers are the judges in both directions. Texts come from the patterns, from changes of such texts, and from a grammar
of the test, which does not know the patterns.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwire_admin.http.schemas import body_schema
from kwire_admin.operations import acl_resources, registry, resources
from kwire_admin.operations.offset_resets import DURATION, parse_duration
from kwire_admin.operations.parameters import (
    CONFIG,
    INDEX,
    NODE,
    PORT,
    REPLICA_ASSIGNMENT,
    InvalidArgument,
    parse_assignment,
    parse_configs,
    parse_node,
)
from kwire_admin.operations.partitions import PARTITION, PARTITIONS, parse_partition
from kwire_admin.operations.positions import LOOKUP, POSITION, RESET, parse_position
from kwire_admin.operations.reassignment_runs import SIZE, parse_size
from kwire_admin.operations.verbs.features import LEVEL, parse_levels
from kwire_admin.operations.verbs.quorum import DIRECTORY_ID, LISTENER, parse_directory_id, parse_listeners
from kwire_admin.operations.verbs.quotas import QUOTA, parse_values
from kwire_admin.operations.verbs.reassign_partitions.plan import GOAL, parse_balance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_admin.operations.parameters import Syntax

PARSERS: dict[str, tuple[Syntax, Callable[[str], Any]]] = {
    "config": (CONFIG, lambda text: parse_configs([text])),
    "replica assignment": (REPLICA_ASSIGNMENT, parse_assignment),
    "partition": (PARTITION, parse_partition),
    "resource with configs": (resources.RESOURCE, resources.parse_resource),
    "resources of ACLs": (acl_resources.RESOURCES, acl_resources.parse_resource),
    "principal": (acl_resources.PRINCIPAL, lambda text: acl_resources.parse_principals([text])),
    "node": (NODE, parse_node),
    "size": (SIZE, parse_size),
    "duration": (DURATION, parse_duration),
    "position": (POSITION, parse_position),
    "goal": (GOAL, lambda text: parse_balance([text])),
    "level": (LEVEL, lambda text: parse_levels([text])),
    "quota": (QUOTA, lambda text: parse_values([text])),
    "directory id": (DIRECTORY_ID, parse_directory_id),
    "listener": (LISTENER, lambda text: parse_listeners([text])),
}
"""The syntax and the parser of each kind of text."""
SUBSETS = {"partitions": PARTITIONS, "position to look up": LOOKUP, "reset": RESET, "resource": acl_resources.RESOURCE}
"""Syntaxes that verbs check before they call a parser of another syntax."""

KINDS = st.sampled_from(sorted(PARSERS))
PIECES = st.sampled_from([*"=:/,.-_+TZPD 09amMk[]\n", "\u0661", "topic", "broker", "default", "cluster", "any", "size"])


@st.composite
def matching(draw: st.DrawFn) -> tuple[str, str]:
    """Return a kind, and a text that matches its pattern as JSON Schema reads it."""
    kind = draw(KINDS)
    return kind, draw(_texts(PARSERS[kind][0]))


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, str]:
    """Return a kind, and a text that is almost one of it."""
    kind, text = draw(matching())
    at = draw(st.integers(0, len(text)))
    return kind, text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 2)) :]


@given(matching())
def test_text_that_matches_the_pattern_is_accepted(case: tuple[str, str]) -> None:
    kind, text = case
    PARSERS[kind][1](text)


@given(changed() | st.tuples(KINDS, st.text() | st.lists(PIECES).map("".join)))
@example(("node", "\u0661"))
@example(("duration", "PT1H\n"))
@example(("position", "1969-12-31T23:59:59.999Z"))
def test_text_is_accepted_if_and_only_if_it_matches_the_pattern(case: tuple[str, str]) -> None:
    kind, text = case
    matches = re.search(f"^(?:{PARSERS[kind][0].pattern})\\Z", text) is not None
    assert _accepts(kind, text) == matches


def _accepts(kind: str, text: str) -> bool:
    try:
        PARSERS[kind][1](text)
    except InvalidArgument:
        return False
    return True


@given(st.sampled_from(sorted(SUBSETS)).flatmap(lambda kind: st.tuples(st.just(kind), _texts(SUBSETS[kind]))))
def test_text_that_a_verb_checks_itself_is_accepted_by_its_parser(case: tuple[str, str]) -> None:
    kind, text = case
    parser, handled_by_the_verb = {
        "partitions": ("partition", ":" not in text),
        "position to look up": ("position", text == "max-timestamp"),
        "reset": ("position", text == "current"),
        "resource": ("resources of ACLs", False),
    }[kind]
    assert handled_by_the_verb or _accepts(parser, text)


def _texts(syntax: Syntax) -> st.SearchStrategy[str]:
    return st.from_regex(syntax.pattern, fullmatch=True)


EPOCH, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
TIMES = st.timedeltas(timedelta(days=1), LAST - EPOCH).map(EPOCH.__add__)
ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(TIMES, ZONES, st.sampled_from(["auto", "minutes", "seconds", "milliseconds"]), st.sampled_from("T "))
@example(datetime(2000, 2, 29, tzinfo=UTC), UTC, "auto", "T")
def test_every_time_with_a_zone_is_a_position(time: datetime, zone: timezone, timespec: str, separator: str) -> None:
    text = time.replace(tzinfo=zone).isoformat(separator, timespec)
    assert parse_position(text) == parse_position(text.replace("+00:00", "Z"))


@pytest.mark.parametrize("year", [1972, 1999, 2000, 2023, 2024, 2100, 2400, 9996, 9999])
def test_dates_of_the_pattern_are_those_of_the_calendar(year: int) -> None:
    for month in range(14):
        for day in range(33):
            text = f"{year}-{month:02}-{day:02}T00:00Z"
            try:
                datetime.fromisoformat(text)
            except ValueError:
                with pytest.raises(InvalidArgument):
                    parse_position(text)
            else:
                parse_position(text)


@given(st.integers(1, 10**14), st.sampled_from(["", "K", "k", "Mi", "GB", "TiB", "M/s", "GiB/s", "B"]))
def test_numbers_of_bytes_are_sizes(number: int, unit: str) -> None:
    factor = 1024 ** " KMGT".index(unit[:1].upper()) if unit not in ("", "B") else 1
    assert parse_size(f"{number}{unit}") == number * factor


@given(st.integers(0, 10**7), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_parts_of_durations_are_added(days: int, hours: int, minutes: int, seconds: int) -> None:
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert parse_duration(f"P{days}DT{hours}H{minutes}M{seconds}S") == expected


@pytest.mark.parametrize(("pattern", "lowest", "highest"), [(INDEX, 0, 2**31 - 1), (PORT, 1, 65535)])
@given(data=st.data())
def test_numbers_of_a_pattern_are_those_of_its_range(
    pattern: str, lowest: int, highest: int, data: st.DataObject
) -> None:
    near = st.integers(-2, 2)
    number = data.draw(
        st.integers(-1, 2 * highest) | near.map(lowest.__add__) | near.map(highest.__add__) | st.integers(0, 100)
    )
    assert bool(re.fullmatch(pattern, str(number))) == (lowest <= number <= highest)


def test_patterns_are_read_alike_by_python_ecma_script_and_rust() -> None:
    """Dots, `$`, and classes such as digits differ, and lookaround is missing in Rust."""
    patterns = [syntax.pattern for syntax, _ in PARSERS.values()] + [syntax.pattern for syntax in SUBSETS.values()]
    assert [text for text in patterns if re.search(r"\\[dwDWbBAZ]|\(\?[^:]|(?<!\\)\.(?![^\[]*\])|\$", text)] == []


def test_every_declared_syntax_is_tested_and_in_the_schema_of_its_parameter() -> None:
    tested = {syntax for syntax, _ in PARSERS.values()} | {*SUBSETS.values()}
    declared = [parameter for parameter in _parameters() if parameter.declared.syntax is not None]
    assert {parameter.declared.syntax for parameter in declared} | {
        NODE
    } == tested  # nodes run tools of another product
    for parameter in declared:
        assert f"^(?:{parameter.declared.syntax.pattern})$" in str(body_schema(parameter)).replace("\\\\", "\\")


def _parameters() -> Iterator[Any]:
    for noun in registry.nouns():
        for name in registry.verb_names(noun):
            verb = registry.find_verb(noun, name)
            assert verb is not None
            if verb.function.__module__.startswith("kwire_admin."):
                yield from verb.parameters
