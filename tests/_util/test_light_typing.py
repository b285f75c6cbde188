"""Random named tuples of `kwire._util.light_typing`, compared with those of `typing`, and the other stand-ins."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import typing
from random import Random
from typing import Any

import pytest

from kwire._util import light_typing
from kwire._util.light_typing import evaluated_annotations

SOURCE = """\
from __future__ import annotations

class Made({bases}):
{fields}
    def total(self) -> int:
        return len(self)
"""


def random_source(random: Random) -> tuple[str, list[str]]:
    """Return a module with a named tuple, and the names of its fields."""
    names = [f"f{number}" for number in range(random.randrange(12))]
    defaults = random.randrange(len(names) + 1)
    lines = [
        f"    {name}: {random.choice(('int', 'str | None', 'list[int]'))}{f' = {index}' if index >= defaults else ''}"
        for index, name in enumerate(names)
    ]
    if random.random() < 0.5:
        lines.insert(0, '    """A docstring."""')
    bases = random.choice(("NamedTuple", "NamedTuple, Generic[T]"))
    return SOURCE.format(bases=bases, fields="\n".join(lines)), names


def made_by(module: Any, source: str) -> Any:
    """Return the class `Made` of a source whose names of `typing` are those of a module."""
    names: dict[str, Any] = {"__name__": __name__, "T": module.TypeVar("T")}
    names |= {name: getattr(module, name) for name in ("Generic", "NamedTuple")}
    exec(source, names)
    return names["Made"]


def outcome(call: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return the result of a call; the class of its error if it fails."""
    try:
        return call(*arguments, **keywords)
    except (AttributeError, TypeError, ValueError) as error:
        return type(error)


def facts(cls: Any, names: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what a program can tell about a named tuple."""
    monkeypatch.setattr(sys.modules[__name__], "Made", cls, raising=False)  # where pickle looks for it
    values = range(100, 100 + len(names))
    made = cls(*values)
    signature = inspect.signature(cls)
    return [
        cls.__name__,
        cls.__doc__.replace(",)", ")"),  # the standard library writes a comma after a single field
        [(name, of.default) for name, of in signature.parameters.items()],
        (cls._fields, cls._field_defaults, cls.__match_args__, cls.__bases__[0], cls.total(made)),
        typing.get_type_hints(cls),
        repr(made),
        made._asdict(),
        [getattr(made, name) for name in names],
        made == tuple(values),
        hash(made),
        type(copy.copy(made)) is cls,
        pickle.loads(pickle.dumps(made)) == made,
        outcome(lambda: repr(cls())),
        outcome(lambda: repr(cls(*values, 1))),
        outcome(lambda: repr(cls(**dict(zip(names, values, strict=True))))),
        outcome(lambda: repr(cls(unknown=1))),
        outcome(lambda: repr(made._replace(**dict.fromkeys(names[:1], 5)))),
        outcome(lambda: made._replace(unknown=5)),
        outcome(lambda: repr(cls._make(values))),
        outcome(lambda: cls._make(range(40))),
        outcome(setattr, made, "unknown", 5),
    ]


def test_named_tuples_are_those_of_typing(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(200):
        source, names = random_source(Random(seed))

        assert facts(made_by(light_typing, source), names, monkeypatch) == facts(
            made_by(typing, source), names, monkeypatch
        ), source


@pytest.mark.parametrize("fields", ["    a: int = 1\n    b: int", "    _a: int"], ids=["default first", "underscore"])
def test_invalid_fields_are_rejected_as_typing_does(fields: str) -> None:
    source = SOURCE.format(bases="NamedTuple", fields=fields)

    assert outcome(made_by, light_typing, source) is outcome(made_by, typing, source) is not type(None)


class Shown(light_typing.NamedTuple):
    """Fields whose annotations need the module."""

    kind: light_typing.Literal["a", "b"]
    number: light_typing.Annotated[int, "unit"] = 1


def test_annotations_are_evaluated_in_their_module() -> None:
    evaluated = evaluated_annotations(Shown)

    assert evaluated["kind"] == typing.Literal["a", "b"]
    assert evaluated["number"].__origin__ is light_typing.Annotated
    assert evaluated["number"].__args__ == (int, "unit")
    assert evaluated_annotations(outcome)["return"] is Any


def test_names_are_known_without_typing() -> None:
    program = (
        "import sys; from kwire._util.light_typing import *; "
        "exec('class A(NamedTuple, Generic[TypeVar(chr(84))]):\\n x: int\\nclass B(Protocol): ...'); "
        "sys.exit('typing' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-I", "-c", program], check=False).returncode == 0
