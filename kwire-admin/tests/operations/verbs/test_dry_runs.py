"""Every verb that changes something has a dry run that is compared with the real run."""

from __future__ import annotations

import pytest

from kwire_admin.operations import registry
from tests.operations.verbs.dry_runs import ACCEPTED, ACCEPTED_ELSEWHERE, CHANGING, LAST, REFUSED, verb_of
from tests.paths import ROOT


@pytest.mark.parametrize("verb", CHANGING, ids=" ".join)
def test_dry_run_of_every_verb_is_compared(verb: tuple[str, str]) -> None:
    assert verb in map(verb_of, REFUSED), (
        "add a change that clusters refuse to kwire-admin/tests/operations/verbs/dry_runs.py"
    )
    if verb in ACCEPTED_ELSEWHERE:
        noun, name = verb
        assert f'"{noun}", "{name}"' in (ROOT / ACCEPTED_ELSEWHERE[verb]).read_text(encoding="utf-8")
    else:
        assert verb in map(verb_of, (*ACCEPTED, *LAST)), "add a change that clusters accept to dry_runs.py"


def test_only_verbs_that_declare_it_wait() -> None:
    waiting = {(noun, name) for noun, name in CHANGING if getattr(registry.find_verb(noun, name), "waits", False)}
    assert {("topics", "create"), ("partitions", "add"), ("features", "upgrade")} <= waiting
    assert ("groups", "delete") not in waiting
