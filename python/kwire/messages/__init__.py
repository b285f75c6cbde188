"""All messages: declarations in ``kafka/``, ``kip4/``, ``kip584/``, ``headers``, and how to find one.

Rules of this package: one file an API, and no list of them anywhere. A class is found by convention: its name without
``Request`` or ``Response``, in snake case, is its module (``DescribeTopicPartitionsResponse`` is in
``describe_topic_partitions``, ``TopicMetadataRequest_V1`` in ``topic_metadata_v1``). A look-up by name imports one
module; the first look-up by key imports all of them, once.
"""

from __future__ import annotations

import sys

from kwire.errors import KwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Literal, TypeAlias, TypeGuard

    from kwire.declare import Message

    Kind: TypeAlias = Literal["request", "response", "header"]
    Index: TypeAlias = dict[tuple[str, int, str], list[type[Message]]]

FAMILIES = ("kafka", "kip4", "kip584")
"""The packages that hold declarations."""

_FAMILIES_OF = {"kafka": ("kafka",), "kip4": ("kip4", "kip584", "kafka")}
"""Where to look for the name of a message of a dialect, in this order."""


class UnknownMessage(KwireError, LookupError):
    """No such message is declared. ``dialect``, ``api_key``, ``version``, ``kind``, ``name``: what was asked for."""

    def __init__(
        self,
        dialect: str,
        api_key: int | None = None,
        version: int | None = None,
        kind: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dialect, api_key, version, kind, name)
        self.dialect = dialect
        self.api_key = api_key
        self.version = version
        self.kind = kind
        self.name = name

    def __str__(self) -> str:
        if self.name is not None:
            return f"dialect {self.dialect} has no message {self.name}"
        at = f" version {self.version}" if self.version is not None else ""
        return f"dialect {self.dialect} has no {self.kind} with key {self.api_key}{at}"


def find(
    dialect: str,
    *,
    api_key: int | None = None,
    version: int | None = None,
    kind: Kind | None = None,
    name: str | None = None,
) -> type[Message]:
    """The message class of ``"kafka"`` or ``"kip4"``, by ``name``, or by ``api_key``, ``kind`` and ``version``.

    Without ``version`` the class with the newest versions. Raises UnknownMessage.
    """
    if dialect not in _FAMILIES_OF:
        raise UnknownMessage(dialect, api_key, version, kind, name)
    if name is not None:
        return _find_by_name(dialect, name)
    if api_key is None or kind is None:
        raise TypeError("find() needs name=, or api_key= and kind=")
    candidates = _index().get((dialect, api_key, kind), ())
    for cls in candidates:
        if version is None or version in cls.versions:
            return cls
    raise UnknownMessage(dialect, api_key, version, kind)


def every(dialect: str | None = None) -> tuple[type[Message], ...]:
    """Every declared message, of one dialect or of all, by key, kind and newest version first; headers last."""
    from kwire.declare.introspect import describe

    found: dict[type[Message], None] = {}
    for key in sorted(_index()):
        if dialect is None or key[0] == dialect:
            found.update(dict.fromkeys(_index()[key]))
    headers = [cls for cls in found if describe(cls).kind == "header"]
    return (*(cls for cls in found if cls not in headers), *headers)


def resolve(package: str, name: str) -> Any:
    """What ``from kwire.messages.kafka import Name`` finds; the packages' ``__getattr__``."""
    module = _import(f"{package}.{module_name(name)}") if name[:1].isupper() else None
    if module is None or not hasattr(module, name):
        raise AttributeError(f"{package} has no message {name}")
    return getattr(module, name)


def module_name(name: str) -> str:
    """The module of a message class: ``TopicMetadataRequest_V1`` -> ``topic_metadata_v1``."""
    stem, underscore, suffix = name.partition("_")
    for kind in ("Request", "Response"):
        stem = stem.removesuffix(kind)
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in stem).lstrip("_")
    return f"{snake}{underscore}{suffix.lower()}"


def _find_by_name(dialect: str, name: str) -> type[Message]:
    from kwire.declare.introspect import describe

    if not name.isidentifier():
        raise UnknownMessage(dialect, name=name)
    for family in (*_FAMILIES_OF[dialect], "headers"):
        module = _import(f"{__name__}.{family}" + ("" if family == "headers" else f".{module_name(name)}"))
        cls = getattr(module, name, None)
        # A struct may bear the very name that leads to its module: KIP-4's TopicMetadata does.
        if module is not None and _is_message_of(cls, module.__name__) and dialect in describe(cls).dialects:
            return cls
    raise UnknownMessage(dialect, name=name)


def _is_message_of(value: object, module: str) -> TypeGuard[type[Message]]:
    """Whether ``value`` is a message that ``module`` declares, and not a struct or something imported."""
    from kwire.declare.struct import Message

    return (
        isinstance(value, type)
        and issubclass(value, Message)
        and "versions" in vars(value)
        and value.__module__ == module
    )


def _import(module: str) -> ModuleType | None:
    """A module of declarations, or None where there is no such file; a mistake inside it is not hidden."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            return None
        raise


_made_index: Index | None = None


def _index() -> Index:
    """(dialect, key, kind) -> classes, the one with the newest versions first."""
    global _made_index  # noqa: PLW0603  made on first use, since it imports every message
    if _made_index is None:
        index: Index = {}
        for cls in _declared_everywhere():
            _enter(index, cls)
        for classes in index.values():
            classes.sort(key=lambda cls: (cls.versions.highest, cls.versions.lowest, cls.__name__), reverse=True)
        _made_index = index
    return _made_index


def _enter(index: Index, cls: type[Message]) -> None:
    from kwire.declare.introspect import describe

    facts = describe(cls)
    for dialect in facts.dialects:
        index.setdefault((dialect, facts.api_key, facts.kind), []).append(cls)


def _declared_everywhere() -> list[type[Message]]:
    from pkgutil import iter_modules

    names = [f"{__name__}.headers"]
    for family in FAMILIES:
        package = _import(f"{__name__}.{family}")
        if package is not None:
            names += [f"{package.__name__}.{module.name}" for module in iter_modules(package.__path__)]
    for name in names:
        _import(name)
    return [value for name in names for value in vars(sys.modules[name]).values() if _is_message_of(value, name)]
