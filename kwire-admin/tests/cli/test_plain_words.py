"""Command lines that are parsed without click have the values that click gives them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import click
import pytest

from kwire.terminal.cluster_options import merge
from kwire_admin.cli import plain_words
from kwire_admin.cli.program import program
from kwire_admin.cli.verb_command import verb_command
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.registry import find_verb, nouns, verb_names

if TYPE_CHECKING:
    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.parameters import Parameter

VERBS = [verb for noun in nouns() for name in verb_names(noun) if (verb := find_verb(noun, name)) is not None]
WORDS = ("orders", "7", "0", "1.5", "a=b", "3h", "", "-", "-1", "--", "t:0", "é", "*", "x y", "earliest", "LATEST")


def word_for(parameter: Parameter, rng: random.Random) -> str:
    """Return a word for a parameter: mostly a valid one, sometimes anything."""
    if rng.random() < 0.1:
        return rng.choice(WORDS)
    if parameter.choices:
        return rng.choice(parameter.choices)
    return rng.choice(("1", "12")) if parameter.type in (int, float) else rng.choice(("orders", "a=b", "localhost:1"))


def random_words(verb: Operation, rng: random.Random) -> list[str]:
    """Return a command line of a verb."""
    parts: list[list[str]] = []
    for parameter in verb.parameters:
        if isinstance(parameter.declared, Argument):
            count = rng.choice((0, 1, 2)) if parameter.many else int(parameter.required or rng.random() < 0.5)
            parts += [[word_for(parameter, rng)] for _ in range(count)]
        elif parameter.required or rng.random() < 0.3:
            name = rng.choice(parameter.declared.names(parameter.name))
            for _ in range(rng.choice((1, 1, 2))):
                word = word_for(parameter, rng)
                parts.append([name] if parameter.flag else rng.choice(([name, word], [f"{name}={word}"])))
    extra = [["-n"], ["--dry-run"], ["--yes"], ["-y"], ["--wait", "0"], ["--wait=nan"], ["--debug"], ["-o", "json"]]
    extra += [["--timeout", "5"], ["--timeout", "-1"], ["-b", "other:9"], ["--output=help"], ["--help"], ["--bogus"]]
    parts += rng.sample(extra, rng.choice((0, 0, 1, 2)))
    rng.shuffle(parts)
    before = rng.choice((["-b", "broker:9092"], ["--bootstrap=broker:9092", "--timeout", "3"], ["-o", "csv"], []))
    return [*before, verb.noun, verb.name, *(word for part in parts for word in part)]


def parsed_by_click(verb: Operation, words: list[str]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the common and the other values of a command line; None if click rejects it or shows help."""
    try:
        general = program.make_context("kafka", list(words))
        rest = [*general._protected_args, *general.args]  # the words that click has not parsed yet
        assert rest[:2] == [verb.noun, verb.name]
        values = dict(verb_command(verb).make_context(verb.name, rest[2:], parent=general).params)
    except (click.ClickException, click.exceptions.Exit):
        return None
    return merge(general.obj or general.params, values), values


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KWIRE_BOOTSTRAP", "KWIRE_CLUSTER", "KWIRE_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_values_are_those_of_click(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(43)
    verbs_parsed: set[str] = set()
    for verb in VERBS:
        for _ in range(30):
            words = random_words(verb, rng)
            plain = plain_words.parse(words)
            if plain is None:
                continue
            verbs_parsed.add(f"{verb.noun} {verb.name}")
            expected = parsed_by_click(verb, words)
            assert expected is not None, words
            assert (plain.chosen, plain.values) == (expected[0] | {"debug": expected[0]["debug"] or None}, expected[1])
            assert [type(value) for value in plain.values.values()] == [
                type(expected[1][name]) for name in plain.values
            ], words
    capsys.readouterr()  # of `--output help`
    assert {"topics list", "topics create", "groups lag", "groups reset-offsets", "configs get"} <= verbs_parsed
    assert len(verbs_parsed) > len(VERBS) / 2


@pytest.mark.parametrize(
    "words",
    [
        ["topics", "list"],
        ["-b", "broker:9092", "--cluster", "dev", "topics", "list"],
        ["-b", "broker:9092", "-X", "client.id=x", "topics", "list"],
        ["-b", "broker:99999", "topics", "list"],
        ["-b", "broker:9092", "topics", "list", "--help"],
        ["-b", "broker:9092", "topics", "lst"],
        ["-b", "broker:9092", "topics"],
        ["-bbroker:9092", "topics", "list"],
        ["-b", "broker:9092", "topics", "list", "--inter"],
        ["-b", "broker:9092", "users", "set", "alice"],
        ["decode", "00"],
        [],
    ],
)
def test_everything_unusual_is_left_to_click(words: list[str]) -> None:
    assert plain_words.parse(words) is None


def test_properties_of_the_environment_are_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["-b", "broker:9092", "topics", "list"]
    assert plain_words.parse(words) is not None
    monkeypatch.setenv("KWIRE_COMMAND_CONFIG", "client.properties")
    assert plain_words.parse(words) is None


def test_bootstrap_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_BOOTSTRAP", "broker:9092")
    assert plain_words.parse(["topics", "list"]) is not None
