"""Declarations of operations: the danger of a run derives from its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest

from kwire._util.light_dataclasses import dataclass, field
from kwire_admin.operations import registry
from kwire_admin.operations.declaration import operation
from kwire_admin.operations.parameters import REQUIRED, Argument, Danger, Option, declared_parameters
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.elections import ElectionType

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


@dataclass(frozen=True, kw_only=True)
class Grouped:
    size: Annotated[int, Option("A size.", "N")] = 3
    names: Annotated[list[str], Option("Names.", "NAME")] = field(default_factory=list)


async def grouping(run: Run, first: Annotated[str, Argument("The first.")], options: Grouped) -> None:
    del run
    assert (first, options) == ("a", Grouped(size=5, names=["b"]))


async def test_a_dataclass_stands_for_its_fields() -> None:
    parameters = declared_parameters(grouping)
    assert [(parameter.name, parameter.default, parameter.many) for parameter in parameters] == [
        ("first", REQUIRED, False),
        ("size", 3, False),
        ("names", [], True),
    ]
    await operation()(grouping)(Run(None), first="a", size=5, names=["b"])
