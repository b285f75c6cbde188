"""Verbs that undo each other are declared alike. The command, the shell, and HTTP derive from the declarations."""

from __future__ import annotations

import pytest

from kwire_admin.operations.parameters import Choice, Danger
from tests.operations.verbs.dry_runs import verb_of
from tests.operations.verbs.pairs import Pair, pairs, setting_cases, unsetting_cases


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_declarations_of_a_pair_agree(pair: Pair) -> None:
    setter, unsetter = pair
    assert setter.dialects == unsetter.dialects
    assert setter.waits == unsetter.waits
    assert unsetter.highest_danger is Danger.DESTROYS, "what is unset is gone, so it asks"
    theirs = {parameter.name: parameter for parameter in unsetter.parameters}
    shared = [(parameter, theirs[parameter.name]) for parameter in setter.parameters if parameter.name in theirs]
    for ours, other in shared:
        assert (ours.type, ours.choices) == (other.type, other.choices)
        assert ours.declared.completes in (None, other.declared.completes)  # nothing completes a new name
        assert (ours.declared.minimum, ours.declared.maximum) == (other.declared.minimum, other.declared.maximum)
    names = {ours.name for ours, _ in shared}
    assert _choices_among(setter.choices, names) == _choices_among(unsetter.choices, names)


def _choices_among(choices: tuple[Choice, ...], names: set[str]) -> set[Choice]:
    return {choice for choice in choices if set(choice.parameters) <= names}


def test_every_verb_that_unsets_something_has_cases() -> None:
    assert {verb_of(case) for case in unsetting_cases()} >= {
        (pair.unsetter.noun, pair.unsetter.name) for pair in pairs()
    }
    assert {verb_of(case) for case in setting_cases()} >= {("configs", "set"), ("topics", "alter"), ("quotas", "set")}
