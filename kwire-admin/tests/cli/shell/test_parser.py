"""Statements of the shell: where they end, and where their words are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_admin.cli.shell.parser import StatementList, parse, quote

TEXTS = st.text(st.sampled_from("ab-=[]'\"\\;# \t\n\N{GREEK SMALL LETTER ALPHA}"), max_size=12)


def words_of(source: str) -> list[list[str]]:
    script = parse(source)
    assert script.unfinished is None, script.unfinished
    return [statement.texts for statement in script.statements]


def test_the_session_of_the_seed() -> None:
    source = "describe;\nset topic_security['pci','profile','dss'] = true\nuse topic name;  \nstats;\n"
    assert words_of(source) == [
        ["describe"],
        ["set", "topic_security['pci','profile','dss']", "=", "true"],
        ["use", "topic", "name"],
        ["stats"],
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("topics create a\n  -p 3\n;", [["topics", "create", "a", "-p", "3"]]),
        ("a; b;c ;;", [["a"], ["b"], ["c"]]),
        ("a 'b;c' \"d e\" f\\ g;", [["a", "b;c", "d e", "f g"]]),
        ("a b'c'\"d\";", [["a", "bcd"]]),
        ("a '' \"\";", [["a", "", ""]]),
        ("# nothing; 'here\na b#c; # d;\n", [["a", "b#c"]]),
        ('a \'\\\' "\\"";', [["a", "\\", '"']]),
        ("set a = 1; set b=2\nc;", [["set", "a", "=", "1"], ["set", "b", "=", "2"], ["c"]]),
        ("set a ['b;\n','c']= 'd e'\n", [["set", "a['b;\n','c']", "=", "d e"]]),
        ("set a[\n'b'\n] =\n true\n", [["set", "a[\n'b'\n]", "=", "true"]]),
        ("set a = b=c d # e\n", [["set", "a", "=", "b=c", "d"]]),
        ("topics list a[b;", [["topics", "list", "a[b"]]),
    ],
)
def test_words(source: str, words: list[list[str]]) -> None:
    assert words_of(source) == words


@pytest.mark.parametrize(
    ("source", "missing"),
    [("a", ";"), ("a; b\n", ";"), ("a 'b;", "'"), ('a "b\\";', '"'), ("set a['b';\n", "]"), ("set a = \n", ";")],
)
def test_unfinished_statements_say_what_is_missing(source: str, missing: str) -> None:
    unfinished = parse(source).unfinished
    assert unfinished is not None
    assert unfinished.missing == missing


@given(st.lists(st.lists(TEXTS, min_size=1), max_size=4))
def test_quoted_words_are_read_as_they_were(statements: list[list[str]]) -> None:
    statements = [["run", *words] for words in statements]
    source = "\n".join(" ".join(map(quote, words)) + ";" for words in statements)
    assert words_of(source) == statements


@given(TEXTS)
def test_every_source_is_valid_and_words_are_where_they_say(source: str) -> None:
    script = parse(source)
    found = [*script.statements, *([script.unfinished] if script.unfinished else [])]
    end = 0
    for statement in found:
        assert end <= statement.start < statement.end <= len(source)
        for word in statement.words:
            assert end <= word.start < word.end <= statement.end
            end = word.end
        end = statement.end


@given(TEXTS, st.data())
def test_a_source_that_arrives_in_pieces_has_the_same_statements(text: str, data: st.DataObject) -> None:
    """As a script that is read line by line: complete statements are final, whatever follows."""
    source = "set a = b\nc;" + text
    cut = data.draw(st.integers(0, len(source)))
    first = parse(source[:cut])
    complete = first.statements
    if source[cut - 1 : cut] == "\\":  # a backslash at the end of a piece belongs to the next character
        return
    whole = parse(source)
    assert [statement.texts for statement in whole.statements[: len(complete)]] == [
        complete_statement.texts for complete_statement in complete
    ]
    assert _statements(first) + _statements(parse(first.rest + source[cut:])) == _statements(whole)


def _statements(script: StatementList) -> list[list[str]]:
    return [statement.texts for statement in script.statements]
