"""Declarations of operations: the danger of a run derives from its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire_admin.operations import registry
from kwire_admin.operations.parameters import Danger
from kwire_admin.operations.verbs.elections.run import ElectionType

if TYPE_CHECKING:
    from kwire_admin.operations.declaration import Operation


def verb_named(noun: str, name: str) -> Operation:
    verb = registry.find_verb(noun, name)
    assert verb is not None
    return verb


@pytest.mark.parametrize(
    ("noun", "name", "arguments", "danger"),
    [
        ("features", "upgrade", {"downgrade": []}, Danger.CHANGES),
        ("features", "upgrade", {"downgrade": ["group.version=0"]}, Danger.DESTROYS),
        ("acls", "apply", {"prune": False}, Danger.CHANGES),
        ("acls", "apply", {"prune": True}, Danger.DESTROYS),
        ("elections", "run", {"type": ElectionType.PREFERRED}, Danger.CHANGES),
        ("elections", "run", {"type": ElectionType.UNCLEAN}, Danger.DESTROYS),
        ("topics", "delete", {"names": ["orders"]}, Danger.DESTROYS),
        ("topics", "list", {"names": None}, Danger.READS),
    ],
)
def test_danger_of_a_run(noun: str, name: str, arguments: dict[str, Any], danger: Danger) -> None:
    assert verb_named(noun, name).danger_of(arguments) is danger
