"""Every noun has verbs, and every declaration is complete."""

from __future__ import annotations

import dataclasses
import pkgutil

from kwire_admin.cli.verb_command import verb_command
from kwire_admin.operations import registry, verbs
from kwire_admin.operations.names import NAMES, kinds
from kwire_admin.operations.parameters import Danger, Option
from kwire_admin.operations.rows import columns
from tests.cli.every_verb import STEPS
from tests.for_rows import for_rows
from tests.paths import ROOT

EVERY = [(noun, name) for noun in registry.nouns() for name in registry.verb_names(noun)]


@for_rows(("noun", "name"), EVERY, ids=" ".join)
def test_declaration_is_complete(noun: str, name: str) -> None:
    verb = registry.find_verb(noun, name)
    assert verb is not None
    assert (verb.noun, verb.name) == (noun, name)
    assert verb.summary.endswith(".")
    assert verb.examples, "the help of every verb has an example"
    assert all(example.startswith(f"{noun} {name}") for example in verb.examples)
    assert dataclasses.is_dataclass(verb.result)
    assert columns(verb.result), "a table has at least one column"
    for parameter in verb.parameters:
        assert parameter.declared.help.endswith((".", "]."))
        assert parameter.declared.completes in {None, *kinds()}
        if isinstance(parameter.declared, Option):
            assert parameter.declared.short not in {"-a", "-b", "-c", "-n", "-o", "-q", "-y"}, (
                "these are common options"
            )
    assert verb.lists in {None, *NAMES}
    if verb.danger is not Danger.READS:
        assert verb.dialects


@for_rows(("noun", "name"), EVERY, ids=" ".join)
def test_a_run_of_the_command_shows_the_verb(noun: str, name: str) -> None:
    steps = [step for step in STEPS if step.verb == (noun, name)]
    verb = registry.find_verb(noun, name)
    assert verb is not None
    shown = {"kip4" if kind == "nodes" else "kafka" for step in steps for kind in step.kinds()}
    assert shown == set(verb.dialects), "add the verb to kwire-admin/tests/cli/every_verb.py"
    for step in steps:
        succeeds = [kind for kind in step.kinds() if kind not in step.errors]
        assert succeeds or step.succeeds_in is not None
        if step.succeeds_in is not None:
            assert f'"{noun}", "{name}"' in (ROOT / step.succeeds_in).read_text(encoding="utf-8")


@for_rows(("noun", "name", "waits"), [("topics", "create", True), ("groups", "delete", False)])
def test_only_a_verb_that_waits_has_the_option(noun: str, name: str, waits: bool) -> None:
    verb = registry.find_verb(noun, name)
    assert verb is not None
    assert verb.waits is waits
    assert any("--wait" in param.opts for param in verb_command(verb).params) is waits


def test_noun_is_found_by_its_singular_and_its_aliases() -> None:
    assert registry.find_noun("topics") == registry.find_noun("topic") == "topics"
    assert registry.find_noun("reassign-partition") == registry.find_noun("reassign") == "reassign-partitions"
    assert registry.find_noun("nosuch") is None


def test_short_names_of_verbs() -> None:
    assert registry.find_verb("topics", "ls") is registry.find_verb("topics", "list")
    assert registry.find_verb("topics", "rm") is registry.find_verb("topics", "delete")
    assert registry.find_verb("topics", "nosuch") is None


def test_nouns_are_the_modules_of_verbs() -> None:
    modules = {module.name.replace("_", "-") for module in pkgutil.iter_modules(verbs.__path__)}
    assert modules == verbs.NOUNS.keys()
    for noun in registry.nouns():
        assert registry.noun_help(noun).endswith(".")
