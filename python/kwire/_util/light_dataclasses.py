"""Dataclasses without the import of `dataclasses`, which loads `inspect` and takes as long as a small command.

`dataclass`, `field`, and `fields` are those of the standard library, for type checkers and at run time: equality, hash,
repr, order of parameters, pickling, and patterns are the same. One function is compiled for a class instead of six, and
not before the first instance. What belongs to `dataclasses` is made when something reads it: `dataclasses.fields`,
`replace`, `asdict`, and subclasses that are dataclasses of the standard library work.

Annotations must be texts, as `from __future__ import annotations` makes them. There is no order, no `InitVar`, no field
without repr or comparison, and no base class that is a dataclass of the standard library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import KW_ONLY, dataclass, field, fields
    from typing import Any

__all__ = ["KW_ONLY", "dataclass", "field", "fields", "is_dataclass"]


class Missing:
    """The default of a field without a default, and the default argument of a field with a factory."""

    def __repr__(self) -> str:
        return "<factory>"


MISSING: Any = Missing()
OWN_FIELDS = "__kwire_light_fields__"
"""The attribute of a class with its fields by name."""


class LightField:
    """A field of a class. Its attributes are those of `dataclasses.Field`."""

    __slots__ = ("default", "default_factory", "init", "kw_only", "metadata", "name", "type")

    def __init__(
        self, default: Any, default_factory: Any, init: bool, kw_only: bool | None, metadata: Mapping[str, Any]
    ) -> None:
        self.name = ""
        self.type = ""
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.kw_only = kw_only
        self.metadata = metadata


if not TYPE_CHECKING:
    KW_ONLY = "KW_ONLY"

    def dataclass(
        cls: type | None = None,
        /,
        *,
        eq: bool = True,
        frozen: bool = False,
        kw_only: bool = False,
        slots: bool = False,
    ) -> Any:
        """Make a class a dataclass. See `dataclasses.dataclass`."""
        if cls is None:
            return lambda decorated: _made(decorated, eq, frozen, kw_only, slots)
        return _made(cls, eq, frozen, kw_only, slots)

    def field(
        *,
        default: Any = MISSING,
        default_factory: Callable[[], Any] = MISSING,
        init: bool = True,
        kw_only: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a field with options. See `dataclasses.field`."""
        return LightField(default, default_factory, init, kw_only, {} if metadata is None else metadata)

    def fields(class_or_instance: Any) -> tuple[Any, ...]:
        """Return the fields of a dataclass of this module or of the standard library in their order.

        Raises:
            TypeError: it is not a dataclass.
        """
        cls = class_or_instance if isinstance(class_or_instance, type) else type(class_or_instance)
        declared_by = _declaring_class(cls)
        if declared_by is not None and OWN_FIELDS in vars(declared_by):
            return tuple(vars(declared_by)[OWN_FIELDS].values())
        import dataclasses

        return dataclasses.fields(class_or_instance)


def is_dataclass(value: object) -> bool:
    """Return whether a value is a dataclass, or an instance of one. See `dataclasses.is_dataclass`."""
    return _declaring_class(value if isinstance(value, type) else type(value)) is not None


def _declaring_class(cls: type) -> type | None:
    """Return the first dataclass among a class and its bases; None if there is none."""
    return next((base for base in cls.__mro__ if "__dataclass_fields__" in vars(base)), None)


def _made(cls: type, eq: bool, frozen: bool, kw_only: bool, slots: bool) -> type:
    """Return the class, or with slots a new one, with the methods of a dataclass."""
    own = _declared_fields(cls, kw_only)
    inherited: dict[str, LightField] = {}
    for base in reversed(cls.__mro__[1:]):
        if "__dataclass_fields__" in vars(base) and OWN_FIELDS not in vars(base):
            raise TypeError(f"{cls.__qualname__} extends a dataclass of the standard library, {base.__qualname__}")
        inherited.update(vars(base).get(OWN_FIELDS, {}))
    everything = {**inherited, **own}
    added: dict[str, Any] = {
        "__match_args__": tuple([f.name for f in everything.values() if f.init and not f.kw_only]),
        "__init__": _LateConstructor(cls, frozen, slots),
        "__repr__": _repr,
    }
    if eq:
        added |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        if vars(cls).get("__hash__") is None and "__eq__" in vars(cls):
            added["__hash__"] = None
    if frozen:
        added |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if slots:
            added |= {"__getstate__": _state, "__setstate__": _set_state}
    added = {name: value for name, value in added.items() if name not in vars(cls)}
    added |= {
        OWN_FIELDS: everything,
        "__dataclass_fields__": _Late("__dataclass_fields__"),
        "__dataclass_params__": _Late("__dataclass_params__"),
    }
    if slots:
        namespace = {name: value for name, value in vars(cls).items() if name not in own}
        for name in ("__dict__", "__weakref__"):
            namespace.pop(name, None)
        namespace.update(added, __slots__=tuple([name for name in own if name not in inherited]))
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        if "__init__" in added:
            added["__init__"].cls = made
        return made
    for name, value in added.items():
        setattr(cls, name, value)
    for name, f in own.items():
        if f.default is not MISSING:
            setattr(cls, name, f.default)
        elif name in vars(cls):  # the options of `field` are not a default
            delattr(cls, name)
    return cls


def _declared_fields(cls: type, kw_only: bool) -> dict[str, LightField]:
    """Return the fields that the annotations of a class declare."""
    declared: dict[str, LightField] = {}
    for name, text in vars(cls).get("__annotations__", {}).items():
        if text.startswith("ClassVar"):
            continue
        if text == "KW_ONLY":
            kw_only = True
            continue
        value = vars(cls).get(name, MISSING)
        f = value if isinstance(value, LightField) else LightField(value, MISSING, True, None, {})
        f.name, f.type = name, text
        f.kw_only = kw_only if f.kw_only is None else f.kw_only
        declared[name] = f
    return declared


class _LateConstructor:
    """`__init__` of a class, compiled on first use: a program imports many dataclasses and makes few."""

    def __init__(self, cls: type, frozen: bool, slots: bool) -> None:
        self.cls = cls
        self._options = frozen, slots

    def __get__(self, instance: object, owner: type) -> Any:
        constructor = _constructor(self.cls, getattr(self.cls, OWN_FIELDS), *self._options)
        type.__setattr__(self.cls, "__init__", constructor)
        return constructor.__get__(instance, owner)


def _constructor(cls: type, declared: Mapping[str, LightField], frozen: bool, slots: bool) -> Any:
    """Return `__init__`, compiled from its text as in `dataclasses`: a loop over the fields is several times slower."""
    names: dict[str, Any] = {"_MISSING": MISSING, "_set": object.__setattr__}
    lines = []
    for f in declared.values():
        if not f.init and f.default_factory is MISSING and (f.default is MISSING or not slots):
            continue  # the attribute of the class is the default
        value = f.name
        if f.default is not MISSING:
            names[f"_default_{f.name}"] = f.default
            value = value if f.init else f"_default_{f.name}"
        elif f.default_factory is not MISSING:
            names[f"_new_{f.name}"] = f.default_factory
            value = f"_new_{f.name}() if {f.name} is _MISSING else {f.name}" if f.init else f"_new_{f.name}()"
        if frozen and slots:  # the descriptor of a slot stores faster than a call by name
            names[f"_set_{f.name}"] = getattr(cls, f.name).__set__
            lines.append(f" _set_{f.name}(self,{value})")
        else:
            lines.append(f" _set(self,{f.name!r},{value})" if frozen else f" self.{f.name}={value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    given = [f for f in declared.values() if f.init]
    ordered, keywords = (
        [_parameter(f) for f in given if bool(f.kw_only) is by_keyword] for by_keyword in (False, True)
    )
    parameters = ",".join(["self", *ordered, *(["*", *keywords] if keywords else ())])
    exec("\n".join([f"def __init__({parameters}):", *lines, " return None"]), names)  # noqa: S102  # fields are identifiers
    constructor = names["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__module__ = cls.__module__
    constructor.__annotations__ = {**{f.name: f.type for f in given}, "return": None}
    return constructor


def _parameter(f: LightField) -> str:
    """Return the text of a parameter of `__init__`."""
    if f.default is not MISSING:
        return f"{f.name}=_default_{f.name}"
    return f.name if f.default_factory is MISSING else f"{f.name}=_MISSING"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in getattr(self, OWN_FIELDS)])


def _repr(self: Any) -> str:
    texts = [f"{name}={getattr(self, name)!r}" for name in getattr(self, OWN_FIELDS)]
    return f"{type(self).__qualname__}({', '.join(texts)})"


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    del self, value
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    del self
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """Return the values for `copy` and `pickle`, which cannot set attributes of a frozen object."""
    return [*_values(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, OWN_FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


class _Late:
    """An attribute of a class that `dataclasses` makes when it is read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: Any = None

    def __get__(self, instance: object, owner: type) -> Any:
        if self._made is None:
            self._made = getattr(_standard_dataclass(owner), self._name)
        return self._made


def _standard_dataclass(cls: type) -> Any:
    """Return a dataclass of the standard library with the fields of a class."""
    import dataclasses

    declared = []
    for f in getattr(cls, OWN_FIELDS).values():
        options: dict[str, Any] = {"init": f.init, "kw_only": bool(f.kw_only), "metadata": f.metadata}
        if f.default is not MISSING:
            options["default"] = f.default
        if f.default_factory is not MISSING:
            options["default_factory"] = f.default_factory
        declared.append((f.name, f.type, dataclasses.field(**options)))
    setter: Any = cls.__setattr__
    return dataclasses.make_dataclass(cls.__name__, declared, frozen=setter is _refuse_to_set)
