"""The grammar in `docs/plans.md` equals the grammar of the engine's parser.

The tests read the EBNF of the page, generate sentences of the grammar and texts close to it, and compare with the
parser. The tests of the Rust crate check the plans and the rejected texts of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from kwire._kwire import Plan
from tests.installing import ROOT

PAGE = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")

# Errors of the parser for texts that the grammar allows, as the page lists them.
BEYOND_THE_GRAMMAR = re.compile(
    "duplicate field"
    "|array elements must take"
    "|tagged field in a struct without tags"
    "|tags must ascend"
    "|a tagged field cannot be"
    "|invalid default for"
    "|expected a number of at most"
    "|expected a literal"
    "|unpaired surrogate"
    "|a uuid must have 16 bytes"
    "|types are nested more than 64 deep"
)


def parser_error(text: str) -> str | None:
    """Return the error of the engine's parser for a text, or None."""
    try:
        Plan(text, [])
    except ValueError as error:
        # The other error is about the classes of the plan, which are not given here.
        return str(error) if str(error).startswith("invalid plan at byte ") else None
    raise AssertionError("every plan opens a struct")


# A reader of EBNF. A part of the grammar becomes two functions: one generates a sentence, the other finds where a
# sentence that starts at a position can end.

Make: TypeAlias = Callable[[DrawFn, int], str]
Ends: TypeAlias = Callable[[str, int], frozenset[int]]


class Part:
    def __init__(self, make: Make, ends: Ends) -> None:
        self.make = make
        self.ends = ends


def literal(wanted: str) -> Part:
    return Part(
        lambda _draw, _depth: wanted,
        lambda text, at: frozenset([at + len(wanted)]) if text.startswith(wanted, at) else frozenset(),
    )


def range_of(first: str, last: str) -> Part:
    return Part(
        lambda draw, _depth: draw(st.characters(min_codepoint=ord(first), max_codepoint=ord(last))),
        lambda text, at: frozenset([at + 1]) if first <= text[at : at + 1] <= last else frozenset(),
    )


def choice(parts: list[Part]) -> Part:
    def make(draw: DrawFn, depth: int) -> str:
        # At the maximum depth, use the first alternative, which is the shortest on the page.
        return parts[draw(st.integers(0, len(parts) - 1 if depth < 8 else 0))].make(draw, depth)

    return Part(make, lambda text, at: frozenset().union(*(part.ends(text, at) for part in parts)))


def sequence(parts: list[Part]) -> Part:
    def ends(text: str, at: int) -> frozenset[int]:
        places = frozenset([at])
        for part in parts:
            places = frozenset().union(*(part.ends(text, place) for place in places))
        return places

    return Part(lambda draw, depth: "".join(part.make(draw, depth) for part in parts), ends)


def repeated(part: Part, least: int, most: int) -> Part:
    def make(draw: DrawFn, depth: int) -> str:
        count = draw(st.integers(least, most)) if depth < 8 else least
        return "".join(part.make(draw, depth) for _ in range(count))

    def ends(text: str, at: int) -> frozenset[int]:
        found = frozenset([at]) if least == 0 else frozenset[int]()
        places, count = frozenset([at]), 0
        while places and (count == 0 or most > 1):
            places = frozenset().union(*(part.ends(text, place) for place in places)) - found
            found |= places
            count += 1
        return found

    return Part(make, ends)


TOKEN = re.compile(r""""[^"]+"|'[^']+'|\w+|[-|()?*+]""")


class Grammar:
    def __init__(self, ebnf: str) -> None:
        self.rules: dict[str, Part] = {}
        for line in ebnf.strip().splitlines():
            name, _, body = line.partition("=")
            tokens = TOKEN.findall(body)
            assert not TOKEN.sub("", body).strip(), f"{name}: unknown token"
            self.rules[name.strip()] = self.alternatives(tokens)
            assert not tokens, f"{name}: {tokens} cannot be parsed"

    def alternatives(self, tokens: list[str]) -> Part:
        found = [self.sequence(tokens)]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            found.append(self.sequence(tokens))
        return choice(found)

    def sequence(self, tokens: list[str]) -> Part:
        found = []
        while tokens and tokens[0] not in "|)":
            part = self.atom(tokens.pop(0), tokens)
            if tokens and tokens[0] in "?*+":
                least, most = {"?": (0, 1), "*": (0, 3), "+": (1, 3)}[tokens.pop(0)]
                part = repeated(part, least, most)
            found.append(part)
        return sequence(found)

    def atom(self, token: str, tokens: list[str]) -> Part:
        if token == "(":
            part = self.alternatives(tokens)
            assert tokens.pop(0) == ")"
            return part
        if token[0] in "\"'":
            if tokens[:1] == ["-"]:
                tokens.pop(0)
                return range_of(token[1:-1], tokens.pop(0)[1:-1])
            return literal(token[1:-1])
        return self.rule(token)

    def rule(self, name: str) -> Part:
        # Looked up on use, because rules can refer to later rules and to themselves.
        def make(draw: DrawFn, depth: int) -> str:
            return self.rules[name].make(draw, depth + 1)

        def ends(text: str, at: int) -> frozenset[int]:
            return self.rules[name].ends(text, at)

        return Part(make, ends)

    def accepts(self, text: str) -> bool:
        return len(text) in self.rules["plan"].ends(text, 0)


@cache
def grammar() -> Grammar:
    [ebnf] = re.findall(r"```ebnf\n(.*?)```", PAGE, re.DOTALL)
    return Grammar(re.sub(r"\n +\|", " |", ebnf))


more = settings(max_examples=4 * settings().max_examples)
"""The settings of a search that needs many examples: 200 where others have 50."""


@st.composite
def sentences(draw: DrawFn) -> str:
    return grammar().rules["plan"].make(draw, 0)


@more
@given(sentences())
def test_sentences_of_the_grammar_parse_or_fail_for_a_documented_reason(sentence: str) -> None:
    assert grammar().accepts(sentence)
    reason = parser_error(sentence)
    assert reason is None or BEYOND_THE_GRAMMAR.search(reason), sentence


@more
@given(sentences(), st.data())
def test_texts_outside_the_grammar_are_rejected(sentence: str, data: st.DataObject) -> None:
    """Change, insert, or delete one character: if the result is outside the grammar, the parser rejects it."""
    at = data.draw(st.integers(0, len(sentence)))
    new = data.draw(st.sampled_from(["", *'{}<>[]()?:#=-~"\\ .', "a", "0", "u", "\N{SNOWMAN}"]))
    text = sentence[:at] + new + sentence[at + data.draw(st.integers(0, 1)) :]
    if not grammar().accepts(text):
        assert parser_error(text) is not None, text


@pytest.mark.parametrize("reason", BEYOND_THE_GRAMMAR.pattern.split("|"))
def test_document_lists_the_reasons_beyond_the_grammar(reason: str) -> None:
    error = PAGE.replace("at most 64 deep", "types are nested more than 64 deep")
    assert re.search(reason, error), reason
