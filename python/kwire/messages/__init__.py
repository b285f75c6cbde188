"""Message declarations in `kafka/`, `kip4/`, `kip584/`, and `headers`, and functions to find them.

The records of Kafka's internal topics are in packages with the names of the topics, such as `consumer_offsets`, and the
data of groups of Kafka Connect and Kafka Streams is in `connect` and `streams`.

Each API is one file, and no list of files or names exists. A message is found by convention: its name without `Request`
or `Response`, in snake case, is its module (`DescribeTopicPartitionsResponse` is in `describe_topic_partitions`,
`TopicMetadataRequest_V1` in `topic_metadata_v1`). The key and the value of a record are in one module as well
(`OffsetCommitKey` and `OffsetCommitValue` in `offset_commit`). A look-up by name imports one module; the first look-up
by key imports all modules. The `.pyi` files of the packages only re-export names for type checkers; `python -m
scripts.stubs` writes them.
"""

from __future__ import annotations

from kwire.errors import KwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Literal, TypeAlias, TypeGuard

    from kwire.declare import Message

    Kind: TypeAlias = Literal["request", "response", "header", "data"]
    Index: TypeAlias = dict[tuple[str, int, str], list[type[Message]]]

__all__ = ["UnknownMessage", "api_name", "every", "find", "record_classes"]

TOPICS = ("consumer_offsets", "transaction_state", "share_group_state", "cluster_metadata", "remote_log_metadata")
"""The packages with the records of internal topics. Each has the name of its topic without `__`."""

_WITH_KEYS = ("kafka", "kip4", "kip584")
"""The packages whose messages have API keys. Records have none, so a look-up by key does not import their modules."""

GROUPS = ("connect", "streams")
"""The packages with data that clients embed in the messages of groups. Data of consumers is in `kafka`."""

FAMILIES = (*_WITH_KEYS, *TOPICS, *GROUPS)
"""The packages that hold declarations."""

_FAMILIES_OF = {"kafka": ("kafka", *TOPICS, *GROUPS), "kip4": ("kip4", "kip584", "kafka")}
"""The packages with messages of a dialect, in search order."""


class UnknownMessage(KwireError, LookupError):
    """No such message is declared. The attributes are the arguments of the look-up."""

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
        if self.dialect not in _FAMILIES_OF:
            dialects = " or ".join(map(repr, _FAMILIES_OF))
            return f"{self.dialect!r} is not a dialect: write {dialects}, and the message as name="
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
    """Return a message class, by `name`, or by `api_key`, `kind`, and optionally `version`.

    Args:
        dialect: `"kafka"` or `"kip4"`.
        api_key: the key of the API.
        version: a version that the class declares; by default, the class with the newest versions is returned.
        kind: `"request"`, `"response"`, `"header"`, or `"data"`.
        name: the name of the class, such as `"MetadataResponse"`.

    Raises:
        UnknownMessage: no such message is declared.
        TypeError: neither `name` nor both `api_key` and `kind` are given.
    """
    if dialect not in _FAMILIES_OF:
        raise UnknownMessage(dialect, api_key, version, kind, name)
    if name is not None:
        return _find_by_name(dialect, name)
    if api_key is None or kind is None:
        raise TypeError("find() needs name=, or api_key= and kind=")
    candidates = _index(_WITH_KEYS).get((dialect, api_key, kind), ()) if api_key >= 0 else ()
    for cls in candidates:
        if version is None or version in cls.versions:
            return cls
    raise UnknownMessage(dialect, api_key, version, kind)


def every(dialect: str | None = None) -> tuple[type[Message], ...]:
    """Return every declared message of one or all dialects, sorted by key, kind, and newest version.

    Messages without a key are last: data, then headers.
    """
    messages: dict[type[Message], None] = {}
    index = _index(FAMILIES)
    for key in sorted(index):
        if dialect is None or key[0] == dialect:
            messages.update(dict.fromkeys(index[key]))
    return (*(cls for cls in messages if cls.api_key >= 0), *(cls for cls in messages if cls.api_key < 0))


def resolve(package: str, name: str) -> Any:
    """Return a message of a package, or its `__all__`. Implements `__getattr__` of the packages.

    `from PACKAGE import *` binds the names that the package's stub has. It reads `__all__`, which imports all modules.

    Raises:
        AttributeError: the package has no such message. Similar names are suggested; a `from` import replaces the text
            by Python's own, which suggests names since 3.12.
    """
    if name == "__all__":
        return names(package)
    module = _import(f"{package}.{module_name(name)}") if name[:1].isupper() else None
    if module is not None and hasattr(module, name):
        return getattr(module, name)
    text = f"{package} has no message {name}"
    if not name[:1].isupper():
        raise AttributeError(text)
    if similar := _similar(name, names(package)):
        text += f"; did you mean {' or '.join(similar)}?"
    raise AttributeError(text)


def record_classes(topic: str) -> dict[tuple[int, str], type[Message]]:
    """Return the messages of an internal topic, such as `__consumer_offsets`, by record type and part.

    The part is `"Key"` or `"Value"`, and `"Record"` in topics without keys. The dictionary is kept: do not change it.
    """
    from kwire.declare.introspect import describe

    classes = _record_classes.get(topic)
    if classes is None:
        classes = {}
        for cls in _messages_of(f"{__name__}.{topic.removeprefix('__')}"):
            record_type = describe(cls).record_type
            part = next(part for part in ("Key", "Value", "Record") if cls.__name__.endswith(part))
            if record_type is not None:
                classes[record_type, part] = cls
        _record_classes[topic] = classes
    return classes


_record_classes: dict[str, dict[tuple[int, str], type[Message]]] = {}


def api_name(cls: type[Message]) -> str:
    """Return the name of a message's API: `Metadata` for MetadataRequest. Other messages have the name of their class.

    The suffixes of the KIP-4 drafts, as in `TopicMetadataRequest_V1`, are not part of it.
    """
    from kwire.declare.introspect import describe

    stem = cls.__name__.partition("_")[0]
    return stem if cls.api_key < 0 else stem.removesuffix(describe(cls).kind.capitalize())


def names(package: str) -> list[str]:
    """Return the names of all messages of a package. Imports all of its modules."""
    return sorted(cls.__name__ for cls in _messages_of(package))


def _similar(name: str, candidates: list[str]) -> list[str]:
    """Return the most similar names, best first. An API name stands for its request and response."""
    from difflib import get_close_matches

    of_an_api = [message for message in (f"{name}Request", f"{name}Response") if message in candidates]
    return of_an_api or get_close_matches(name, candidates, n=3, cutoff=0.85)


def module_name(name: str) -> str:
    """Return the module of a message class: `topic_metadata_v1` for `TopicMetadataRequest_V1`."""
    stem, underscore, suffix = name.partition("_")
    for part in ("Request", "Response", "Key", "Value"):
        stem = stem.removesuffix(part)
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in stem).lstrip("_")
    return f"{snake}{underscore}{suffix.lower()}"


def _find_by_name(dialect: str, name: str) -> type[Message]:
    from kwire.declare.introspect import describe

    if not name.isidentifier():
        raise UnknownMessage(dialect, name=name)
    for family in (*_FAMILIES_OF[dialect], "headers"):
        module = _import(f"{__name__}.{family}" + ("" if family == "headers" else f".{module_name(name)}"))
        cls = getattr(module, name, None)
        # A struct can have the name that leads to its module, such as TopicMetadata of KIP-4.
        if module is not None and _is_message_of(cls, module.__name__) and dialect in describe(cls).dialects:
            return cls
    raise UnknownMessage(dialect, name=name)


def _is_message_of(value: object, module: str) -> TypeGuard[type[Message]]:
    """Return whether `value` is a message declared in `module`, not a struct or an imported name."""
    from kwire.declare.struct import Message

    return (
        isinstance(value, type)
        and issubclass(value, Message)
        and "versions" in vars(value)
        and value.__module__ == module
    )


def _import(module: str) -> ModuleType | None:
    """Import a module, or return None if it does not exist. Errors inside the module propagate."""
    from importlib import import_module

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            return None
        raise


_indexes: dict[tuple[str, ...], Index] = {}


def _index(families: tuple[str, ...]) -> Index:
    """Return the classes of packages by dialect, key, and kind, the class with the newest versions first.

    It is built on first use because it imports all modules of the packages.
    """
    index = _indexes.get(families)
    if index is None:
        index = {}
        for cls in _declared_in(families):
            _enter(index, cls)
        for classes in index.values():
            classes.sort(key=lambda cls: (cls.versions.highest, cls.versions.lowest, cls.__name__), reverse=True)
        _indexes[families] = index
    return index


def _enter(index: Index, cls: type[Message]) -> None:
    from kwire.declare.introspect import describe

    facts = describe(cls)
    for dialect in facts.dialects:
        index.setdefault((dialect, facts.api_key, facts.kind), []).append(cls)


def _declared_in(families: tuple[str, ...]) -> list[type[Message]]:
    headers = f"{__name__}.headers"
    classes = [value for value in vars(_import(headers)).values() if _is_message_of(value, headers)]
    for family in families:
        classes += _messages_of(f"{__name__}.{family}")
    return classes


def _messages_of(package: str) -> list[type[Message]]:
    """Return the messages that the modules of a package declare."""
    from pkgutil import iter_modules

    classes = []
    imported = _import(package)
    for entry in iter_modules(imported.__path__) if imported is not None else ():
        module = f"{package}.{entry.name}"
        classes += [value for value in vars(_import(module)).values() if _is_message_of(value, module)]
    return classes
