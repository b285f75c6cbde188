"""The regular expressions of `--topic` match what Java matches, or are refused."""

from __future__ import annotations

import pytest

from kwire_admin.compat.topic_patterns import InvalidPattern, TopicPattern, UnsupportedPattern, java_pattern
from tests.compat.java_patterns import GENERATED, HANDWRITTEN, NAMES, patterns, recorded
from tests.for_rows import for_rows


def test_the_recorded_patterns_are_those_of_the_generator() -> None:
    assert [pattern for pattern, _ in recorded()] == patterns()


def test_patterns_match_what_java_matches() -> None:
    unsupported = 0
    for pattern, expected in recorded():
        try:
            compiled = java_pattern(pattern)
        except UnsupportedPattern:
            unsupported += pattern not in HANDWRITTEN
            continue
        except InvalidPattern:
            assert expected is None, pattern
            continue
        matches = [number for number, name in enumerate(NAMES) if compiled.fullmatch(name)]
        assert matches == expected, pattern
    assert unsupported <= GENERATED // 50, "only references within their own group and the like are refused"


@for_rows(
    "text, accepted, others",
    [
        ("'orders'", "orders", "'orders'"),
        ('"orders,ab"', "ab", "orders,ab"),
        (" orders , ab ", "ab", "orders "),
        ("a[12]", "a1", "a12"),
        ("(?i)upper", "UPPER", "UPPER2"),
        (r"\Qtest.a\E", "test.a", "testXa"),
    ],
)
def test_quirks_of_kafkas_filter(text: str, accepted: str, others: str) -> None:
    pattern = TopicPattern(text)
    assert pattern.accepts(accepted)
    assert not pattern.accepts(others)


@for_rows(
    "text, reason",
    [
        ("te*t**", r"te\*t\*\* is an invalid regex\."),
        ("a[0-9]{1,2}", "is an invalid regex"),  # the comma is an alternative, as in Kafka
        ("(?x)a b", r"kwire does not support \(\?x in a regular expression"),
        (r"a(?<=a*b)", r"kwire does not support a part \(look-behind requires fixed-width pattern"),
        (r"\p{IsLatin}", "kwire does not support the property IsLatin"),
        (r"\p{Latin}", "kwire does not support the property Latin"),
        ("(?<a>a)(?<a>b)", "is an invalid regex"),
        ("[a&&]", "kwire does not support this use of &&"),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(InvalidPattern, match=reason):
        TopicPattern(text)
