"""Random dataclasses of `kwire._util.light_dataclasses`, compared with those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import KW_ONLY
from random import Random
from typing import Any, ClassVar

import pytest

from kwire._util import light_dataclasses
from kwire._util.light_dataclasses import is_dataclass

SOURCE = """\
from __future__ import annotations
from typing import ClassVar

@dataclass({base_options})
class Base:
{base}
    shared: ClassVar[int] = 3

@dataclass({options})
class Made(Base):
{made}
    def __post_init__(self) -> None:
        self.calls.append(1)
    calls: ClassVar[list[int]] = []
"""
OPTIONS = ("eq=False", "frozen=True", "kw_only=True", "slots=True")


def random_source(random: Random) -> tuple[str, list[str]]:
    """Return a module with two random dataclasses, and the names of all fields."""
    shared = [option for option in OPTIONS if random.random() < 0.5]
    frozen_or_not = [option for option in shared if option != "kw_only=True"]
    texts, names = [], []
    for owner in ("b", "m"):
        lines = []
        for number in range(random.randrange(1, 5)):
            names.append(f"{owner}{number}")
            value = random.choice(
                (" = 5", " = field(default=7, metadata={'unit': 's'})", " = field(default_factory=list)")
            )
            # Without kw_only, a field without a default cannot follow one with a default.
            lines.append(f"    {names[-1]}: int{'' if 'kw_only=True' in shared and random.random() < 0.4 else value}")
        if random.random() < 0.3:
            lines.insert(random.randrange(len(lines) + 1), "    _: KW_ONLY")
        if random.random() < 0.3:
            names.append(f"{owner}_inner")
            lines.append(f"    {names[-1]}: int = field(default=1, init=False)")
        texts.append("\n".join(lines))
    options = ", ".join(shared)
    base_options = ", ".join(frozen_or_not) + (", kw_only=True" if "kw_only=True" in shared else "")
    source = SOURCE.format(base_options=base_options.strip(", "), options=options, base=texts[0], made=texts[1])
    return source, names


def made_by(module: Any, source: str) -> type:
    """Return the class `Made` of a source whose decorators are those of a module."""
    # The standard library looks for the annotation KW_ONLY in the module of the class, which is this one.
    namespace: dict[str, Any] = {"KW_ONLY": KW_ONLY, "__name__": __name__}
    namespace |= {name: getattr(module, name) for name in ("dataclass", "field")}
    exec(source, namespace)
    made: type = namespace["Made"]
    return made


def outcome(call: Any, *arguments: Any, **keywords: Any) -> Any:
    """Return the result of a call; the class of its error if it fails."""
    try:
        return call(*arguments, **keywords)
    except (AttributeError, TypeError) as error:
        return type(error)


def behavior(cls: type, names: list[str], arguments: dict[str, Any]) -> list[Any]:
    """Return what a class and an instance show, in the same way for both kinds of dataclasses."""
    shown: list[Any] = [
        str(inspect.signature(cls)),
        [(f.name, f.type, f.metadata, f.init, f.kw_only) for f in dataclasses.fields(cls)],
        [(f.name, f.type, f.metadata, f.init, f.kw_only) for f in light_dataclasses.fields(cls)],
        getattr(cls, "__match_args__", None),
        sorted(getattr(cls, "__slots__", ())),
        is_dataclass(cls),
    ]
    made = outcome(cls, **arguments)
    if isinstance(made, type):  # the error of wrong arguments
        return [*shown, made]
    twin = copy.copy(made)
    shown += [
        repr(made),
        outcome(hash, made) == outcome(hash, twin),
        outcome(hash, made) is TypeError,
        made == twin,
        made == "made",
        outcome(setattr, twin, names[0], 8),
        outcome(delattr, twin, names[-1]),
        # With slots, the standard library raises a TypeError for an attribute that is not a field.
        outcome(setattr, twin, "other", 8) is None,
        outcome(delattr, twin, "other") is None,
        dataclasses.asdict(made),
        repr(dataclasses.replace(made, **{names[0]: 9})),
        light_dataclasses.fields(made) == light_dataclasses.fields(cls),
    ]
    return shown


def test_classes_behave_as_those_of_the_standard_library() -> None:
    random = Random(43)
    for _ in range(150):
        source, names = random_source(random)
        ours, theirs = made_by(light_dataclasses, source), made_by(dataclasses, source)
        required = [f.name for f in dataclasses.fields(theirs) if f.default is f.default_factory]
        settable = [f.name for f in dataclasses.fields(theirs) if f.init]
        given: dict[str, Any] = dict.fromkeys({*required, *random.sample(settable, 1)}, random.randrange(9))

        for arguments in ({}, given, {**given, "unknown": 1}, dict.fromkeys(required, ())):
            assert behavior(ours, names, arguments) == behavior(theirs, names, arguments), source


@light_dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A value of two numbers."""

    left: int
    right: int = 2
    unit: ClassVar[str] = "s"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and self.left == other.left

    def __hash__(self) -> int:
        return self.left


@dataclasses.dataclass(frozen=True)
class Triple(Pair):
    """A dataclass of the standard library whose base is a light one."""

    last: int = 3


def test_methods_of_the_class_are_kept() -> None:
    assert Pair(1) == Pair(1, 5)
    assert hash(Pair(7)) == 7
    assert Pair.unit == "s"
    assert Pair.__qualname__ == "Pair"


def test_pickle_and_patterns() -> None:
    assert repr(pickle.loads(pickle.dumps(Pair(4, 5)))) == "Pair(left=4, right=5)"
    match Pair(4, 5):
        case Pair(left, right):
            assert (left, right) == (4, 5)


def test_class_of_the_standard_library_extends_it() -> None:
    assert Triple(1) == Triple(1)
    assert [f.name for f in light_dataclasses.fields(Triple)] == ["left", "right", "last"]
    assert [f.name for f in light_dataclasses.fields(Triple(1))] == ["left", "right", "last"]
    assert is_dataclass(Triple(1))
    assert is_dataclass(Pair)
    assert not is_dataclass(5)
    frozen: Any = Triple(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen.left = 5


def test_base_of_the_standard_library_is_refused() -> None:
    with pytest.raises(TypeError, match="extends a dataclass of the standard library, Triple"):
        light_dataclasses.dataclass(type("Last", (Triple,), {"__annotations__": {"more": "int"}}))


def test_use_imports_neither_dataclasses_nor_inspect() -> None:
    program = (
        "import sys\nfrom kwire._util.light_dataclasses import dataclass, field, fields\n"
        "Made = dataclass(frozen=True, slots=True)(type('Made', (), {'__annotations__': {'a': 'int'}}))\n"
        "assert repr(Made(1)) == 'Made(a=1)' and Made(1) == Made(1) and hash(Made(1)) and len(fields(Made)) == 1\n"
        "assert not {'dataclasses', 'inspect', 'typing'} & {*sys.modules}\n"
    )
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"], check=True
    )
