"""One JSON object of a node, read key by key as Kafka's ``kafka.utils.json`` reads it.

Rules of this file: what a key must hold is said where it is read, and every fault names path and key. An integer is a
whole number of 32 (or 64) bits written as a number; a text is a JSON string that Unicode can write, so without half a
surrogate pair; null is no value for either. Of two equal keys the last counts, and what follows the object is not
looked at: both as Jackson does it. What nobody asked for is ``unknown``: kept as JSON text, so that it can be written
back and is immutable.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from kwire.cluster.zookeeper.errors import ZnodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "NO_UNKNOWN_KEYS",
    "JsonObject",
    "UnknownKeys",
    "dump",
    "intern_ids",
    "json_of_objects",
    "object_text",
    "parse",
    "read_only",
]

UnknownKeys: TypeAlias = tuple[tuple[str, str], ...]
"""Keys that nobody here knows, each with the JSON text of its value."""

NO_UNKNOWN_KEYS: UnknownKeys = ()
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_NO_NODE_NAME = re.compile("[/\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")
"""What ZooKeeper takes in no node's name (``PathUtils.validatePath``)."""
_REQUIRED: Any = object()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


def parse(data: bytes, path: str) -> Any:
    """The JSON value that the data begin with. Errors: ZnodeError."""
    try:
        try:
            return _DECODER.raw_decode(data.decode().lstrip(" \t\r\n"))[0]
        except ValueError:  # another of Unicode's encodings, or a byte order mark, which Jackson finds out by itself
            return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        shown = f"{data[:60]!r}..." if len(data) > 60 else repr(data)
        raise ZnodeError(path, "", f"no JSON: {shown}: {error}") from None


def dump(values: Mapping[str, object], unknown: UnknownKeys = NO_UNKNOWN_KEYS) -> bytes:
    """The object as compact JSON, known keys first."""
    return object_text(values, unknown).encode()


def json_of_objects(objects: Mapping[str, tuple[Mapping[str, object], UnknownKeys]]) -> str:
    """An object of objects, each with what is unknown of it."""
    return "{" + ",".join(f"{_ENCODER.encode(name)}:{object_text(*one)}" for name, one in objects.items()) + "}"


def object_text(values: Mapping[str, object], unknown: UnknownKeys = NO_UNKNOWN_KEYS) -> str:
    """The same as text, to stand within another object."""
    text = _ENCODER.encode(values)
    if unknown:
        rest = ",".join(f"{_ENCODER.encode(key)}:{value}" for key, value in unknown)
        text = f"{text[:-1]},{rest}}}" if values else f"{{{rest}}}"
    return text


@lru_cache(maxsize=1 << 16)
def intern_ids(ids: tuple[int, ...]) -> tuple[int, ...]:
    """The same list of brokers as the same object: a cluster has many partitions and few such lists."""
    return ids


def read_only(values: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The mapping, for reading only."""
    return values if isinstance(values, MappingProxyType) else MappingProxyType(dict(values))


class JsonObject:
    """An object that is being read. ``where``: the dotted key it stands at, for errors."""

    __slots__ = ("_path", "_values", "_where")

    def __init__(self, value: Any, path: str, where: str = "") -> None:
        if type(value) is not dict:
            raise ZnodeError(path, where, f"expected a JSON object, found {_shown(value)}")
        self._values: dict[str, Any] = value
        self._path = path
        self._where = where

    @classmethod
    def parse(cls, data: bytes, path: str) -> JsonObject:
        """The object that is all of a node's data."""
        return cls(parse(data, path), path)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def keys(self) -> Iterable[str]:
        """Of what was not taken yet."""
        for key in self._values:
            if not _can_be_written(key):
                raise self.fault("", f"{_shown(key)} is no key: half a surrogate pair is no character")
        return list(self._values)

    def where(self, key: str) -> str:
        """The dotted key, as errors name it."""
        return f"{self._where}.{key}" if self._where else key

    def fault(self, key: str, reason: str) -> ZnodeError:
        """The error to raise."""
        return ZnodeError(self._path, self.where(key) if key else self._where, reason)

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        """Any value. It counts as known from now on."""
        value = self._values.pop(key, default)
        if value is _REQUIRED:
            raise self.fault(key, "is missing")
        return value

    def drop(self, *keys: str) -> None:
        """Keys that are known, and about which nothing is demanded."""
        for key in keys:
            self._values.pop(key, None)

    def timestamp(self) -> int | None:
        """Read the optional `timestamp`: milliseconds since 1970, which Kafka writes as a string.

        A value that is not an integer of 64 bits stays an unknown key, so it is written back unchanged.
        """
        value = self._values.get("timestamp")
        if type(value) is str and _NUMBER.fullmatch(value):
            value = int(value)
        if type(value) is not int or not _fits(value, 64):
            return None
        del self._values["timestamp"]
        return value

    def integer(self, key: str, default: Any = _REQUIRED, *, bits: int = 32) -> Any:
        """A whole number; the default only where the key is missing."""
        return self._integer(key, self.take(key), bits) if key in self._values else self._default(key, default)

    def text(self, key: str, default: Any = _REQUIRED) -> Any:
        """A string; the default only where the key is missing."""
        if key not in self._values:
            return self._default(key, default)
        value = self._values.pop(key)
        if type(value) is not str:
            raise self.fault(key, f"expected a string, found {_shown(value)}")
        if not _can_be_written(value):
            raise self.fault(key, f"{_shown(value)}: half a surrogate pair is no character")
        return value

    def node_name(self, key: str) -> str:
        """A string that a node can be called."""
        text: str = self.text(key)
        if text in {"", ".", ".."} or _NO_NODE_NAME.search(text):
            raise self.fault(key, f"no node can be called {_shown(text)}")
        return text

    def number_in_text(self, key: str) -> int:
        """A whole number of 64 bits that is written as a string."""
        text = self.text(key)
        if _NUMBER.fullmatch(text) is None or not _fits(int(text), 64):
            raise self.fault(key, f"expected a whole number in a string, found {_shown(text)}")
        return int(text)

    def optional_text(self, key: str) -> str | None:
        """A string; None where it is null or missing."""
        if self._values.get(key) is None:
            self._values.pop(key, None)
            return None
        text: str = self.text(key)
        return text

    def integers(self, key: str, default: Any = _REQUIRED) -> Any:
        """A tuple of whole numbers, shared among all who hold the same."""
        if key not in self._values:
            return self._default(key, default)
        values = self._array(key)
        if not all(type(value) is int and _fits(value, 32) for value in values):
            raise self.fault(key, f"expected a list of integers, found {_shown(values)}")
        return intern_ids(tuple(values))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self._array(key)
        if not all(type(value) is str and _can_be_written(value) for value in values):
            raise self.fault(key, f"expected a list of strings, found {_shown(values)}")
        return tuple(values)

    def text_map(self, key: str) -> dict[str, str]:
        """An object of strings."""
        inner = self.object(key)
        return {name: inner.text(name) for name in inner.keys()}  # noqa: SIM118 - reading takes the keys out

    def object(self, key: str) -> JsonObject:
        """An object within."""
        return JsonObject(self.take(key), self._path, self.where(key))

    def objects(self, key: str) -> list[JsonObject]:
        """A list of objects."""
        values = self._array(key)
        return [JsonObject(value, self._path, f"{self.where(key)}[{index}]") for index, value in enumerate(values)]

    def unknown(self) -> UnknownKeys:
        """What was not taken."""
        if not self._values:
            return NO_UNKNOWN_KEYS
        return tuple((key, _ENCODER.encode(value)) for key, value in self._values.items())

    def _array(self, key: str) -> list[Any]:
        value = self.take(key)
        if type(value) is not list:
            raise self.fault(key, f"expected a list, found {_shown(value)}")
        return value

    def _integer(self, key: str, value: Any, bits: int) -> int:
        if type(value) is not int or not _fits(value, bits):
            raise self.fault(key, f"expected an integer of {bits} bits, found {_shown(value)}")
        return value

    def _default(self, key: str, default: Any) -> Any:
        if default is _REQUIRED:
            raise self.fault(key, "is missing")
        return default


def _fits(number: int, bits: int) -> bool:
    """Return whether a signed integer of this size can hold the number."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def _can_be_written(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    try:
        text = _ENCODER.encode(value)
    except ValueError:  # a number of more digits than Python writes
        text = "a number too long to show"
    return text if len(text) <= 60 else f"{text[:60]}..."
