"""Names of `typing` without its import, which takes as long as four of the modules that a small command needs.

For type checkers, these are the names of the standard library. At run time they are stand-ins that do what annotations
in texts, base classes, and aliases need. `NamedTuple` makes the same classes as `typing.NamedTuple`, without compiling
a constructor and each annotation of a class: a template is copied with other names of its parameters.

| name | at run time |
|---|---|
| `NamedTuple` | a base of tuples with named fields, whose annotations must be texts |
| `Annotated`, `Generic`, `Protocol` | classes whose subscript is a `types.GenericAlias` |
| `Literal` | a class whose subscript is the one of `typing`, which is imported for it |
| `Any`, `ClassVar`, `Self`, `TextIO`, `TypeAlias`, `TypeGuard` | classes that are only named |
| `TypeVar` | an object with a name |

Annotations are texts (`from __future__ import annotations`), and aliases of types belong below `if TYPE_CHECKING`. A
module that asks at run time whether an object has a protocol (`runtime_checkable`) imports `typing` itself.
"""

from __future__ import annotations

import sys

try:
    from _collections import _tuplegetter  # type: ignore[import-not-found]  # typeshed lacks it
except ImportError:  # PyPy
    from operator import itemgetter

    def _tuplegetter(index: int, doc: str) -> Any:
        return property(itemgetter(index), doc=doc)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import (
        Annotated,
        Any,
        ClassVar,
        Generic,
        Literal,
        NamedTuple,
        Protocol,
        Self,
        TextIO,
        TypeAlias,
        TypeGuard,
        TypeVar,
        cast,
        overload,
    )

__all__ = [
    "TYPE_CHECKING",
    "Annotated",
    "Any",
    "ClassVar",
    "Generic",
    "Literal",
    "NamedTuple",
    "Protocol",
    "Self",
    "TextIO",
    "TypeAlias",
    "TypeGuard",
    "TypeVar",
    "cast",
    "evaluated_annotations",
    "overload",
]


def evaluated_annotations(declared: Any) -> dict[str, Any]:
    """Return the annotations of a function or class. See `typing.get_type_hints(include_extras=True)`.

    Raises:
        NameError: an annotation names something that its module does not have at run time.
    """
    evaluated: dict[str, Any] = {}
    for part in reversed(declared.__mro__) if isinstance(declared, type) else (declared,):
        names = vars(sys.modules[part.__module__])
        annotations = vars(part).get("__annotations__", {}) if isinstance(part, type) else part.__annotations__
        for name, annotation in annotations.items():
            value = eval(annotation, names) if isinstance(annotation, str) else annotation  # noqa: S307  # source code
            evaluated[name] = type(None) if value is None else value
    return evaluated


_tuple_new = tuple.__new__
_alias: Any = classmethod(type(list[int]))
"""Returns a `types.GenericAlias` of a class and what its subscript contains."""

if not TYPE_CHECKING:

    class Any: ...

    class ClassVar: ...

    class Self: ...

    class TextIO: ...

    class TypeAlias: ...

    class TypeGuard: ...

    class Annotated:
        __class_getitem__ = _alias

    class Generic:
        __slots__ = ()
        __class_getitem__ = _alias

    class Literal:
        def __class_getitem__(cls, values: Any) -> Any:
            """Return the type of some values, for a program that evaluates an annotation."""
            from typing import Literal as OfTyping

            return OfTyping[values]

    class Protocol:
        __slots__ = ()
        __class_getitem__ = _alias

    class TypeVar:
        def __init__(self, name: str, *constraints: Any, bound: Any = None, **variance: bool) -> None:
            del constraints, bound, variance
            self.__name__ = name

        def __repr__(self) -> str:
            return f"~{self.__name__}"

    def cast(type: object, value: Any) -> Any:
        """Return the value. See `typing.cast`."""
        del type
        return value

    def overload(function: Any) -> Any:
        """Return the function: the last definition of its name replaces it."""
        return function


def _fields_of(self: Any) -> Iterable[tuple[str, Any]]:
    return zip(self._fields, self, strict=True)


def _repr(self: Any) -> str:
    return f"{type(self).__name__}({', '.join([f'{name}={value!r}' for name, value in _fields_of(self)])})"


def _asdict(self: Any) -> dict[str, Any]:
    """Return a new dict which maps field names to their values."""
    return dict(_fields_of(self))


def _replace(self: Any, /, **values: Any) -> Any:
    """Return a new object replacing specified fields with new values."""
    replaced = self._make(map(values.pop, self._fields, self))
    if values:
        raise (TypeError if sys.version_info >= (3, 13) else ValueError)(f"Got unexpected field names: {[*values]!r}")
    return replaced


def _make(cls: Any, iterable: Iterable[Any]) -> Any:
    """Make a new object from a sequence or iterable."""
    values = tuple(iterable)
    if len(values) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(values)}")
    return _tuple_new(cls, values)


def _new_arguments(self: Any) -> tuple[Any, ...]:
    """Return self as a plain tuple. Used by copy and pickle."""
    return (*self,)


METHODS = {
    "__getnewargs__": _new_arguments,
    "__replace__": _replace,
    "__repr__": _repr,
    "__slots__": (),
    "_asdict": _asdict,
    "_make": classmethod(_make),
    "_replace": _replace,
}
"""Attributes of all named tuples."""


CONSTRUCTORS = (
    lambda _cls: _tuple_new(_cls, ()),
    lambda _cls, a: _tuple_new(_cls, (a,)),
    lambda _cls, a, b: _tuple_new(_cls, (a, b)),
    lambda _cls, a, b, c: _tuple_new(_cls, (a, b, c)),
    lambda _cls, a, b, c, d: _tuple_new(_cls, (a, b, c, d)),
    lambda _cls, a, b, c, d, e: _tuple_new(_cls, (a, b, c, d, e)),
    lambda _cls, a, b, c, d, e, f: _tuple_new(_cls, (a, b, c, d, e, f)),
    lambda _cls, a, b, c, d, e, f, g: _tuple_new(_cls, (a, b, c, d, e, f, g)),
    lambda _cls, a, b, c, d, e, f, g, h: _tuple_new(_cls, (a, b, c, d, e, f, g, h)),
)
"""The constructors of named tuples by the number of their fields, with other names than theirs."""


def _constructor(cls_name: str, names: tuple[str, ...], texts: dict[str, str], defaults: tuple[Any, ...]) -> Any:
    """Return `__new__` of a named tuple."""
    if len(names) < len(CONSTRUCTORS):
        template = CONSTRUCTORS[len(names)]
    else:
        arguments = ", ".join(names)
        template = eval(f"lambda _cls, {arguments}: _tuple_new(_cls, ({arguments}))", globals())  # noqa: S307  # fields are identifiers
    function: Any = type(template)
    made = function(
        template.__code__.replace(co_varnames=("_cls", *names), co_name="__new__"), globals(), "__new__", defaults
    )
    made.__qualname__ = f"{cls_name}.__new__"
    made.__doc__ = f"Create new instance of {cls_name}({', '.join(names)})"
    made.__annotations__ = texts
    return made


class _NamedTupleMeta(type):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        texts: dict[str, str] = namespace.get("__annotations__", {})
        names = tuple(texts)
        defaults = {field: namespace[field] for field in names if field in namespace}
        if defaults and names[-len(defaults) :] != tuple(defaults):
            raise TypeError(f"{name}: a field without a default follows a field with one")
        invalid = [field for field in names if field.startswith("_")]
        if invalid:
            raise ValueError(f"field names cannot start with an underscore: {invalid[0]!r}")
        made = METHODS | {"__doc__": f"{name}({', '.join(names)})"} | namespace
        for index, field in enumerate(names):
            made[field] = _tuplegetter(index, f"Alias for field number {index}")
        made["__new__"] = _constructor(namespace["__qualname__"], names, texts, tuple(defaults.values()))
        made["_fields"] = made["__match_args__"] = names
        made["_field_defaults"] = defaults
        return type(name, tuple([tuple if base is _Base else base for base in bases]), made)


_Base: Any = type.__new__(_NamedTupleMeta, "NamedTuple", (), {})


class _NamedTupleForm:
    """`NamedTuple` in the bases of a class."""

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (_Base,)


if not TYPE_CHECKING:
    NamedTuple = _NamedTupleForm()
