"""Reading and writing of JSON objects in znodes, like `kafka.utils.json` of Kafka.

- The expected type of a key is given where it is read, and every error has the path and the key.
- An integer is a JSON number without a fraction that fits into 32 or 64 bits. A string must be encodable in UTF-8, so
  it contains no lone surrogates. null is neither.
- As in Jackson, the last of several equal keys counts, and data after the object are ignored.
- Keys that are not read are unknown keys. They are kept as JSON text, which is immutable, and can be written back.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from kwire_cluster.zookeeper.errors import ZnodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

UnknownKeys: TypeAlias = tuple[tuple[str, str], ...]
"""Unknown keys, each with the JSON text of its value."""

NO_UNKNOWN_KEYS: UnknownKeys = ()
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_INVALID_IN_ZNODE_NAME = re.compile("[/\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")
"""Characters that ZooKeeper rejects in names (`PathUtils.validatePath`)."""
_REQUIRED: Any = object()


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"))


def decode_json(data: bytes, path: str) -> Any:
    """Decode the JSON value at the start of the data, or raise ZnodeError."""
    try:
        try:
            return _DECODER.raw_decode(data.decode().lstrip(" \t\r\n"))[0]
        except ValueError:  # another Unicode encoding or a byte order mark, which Jackson detects
            return json.loads(data, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        shown = f"{data[:60]!r}..." if len(data) > 60 else repr(data)
        raise ZnodeError(path, "", f"invalid JSON {shown}: {error}") from None


def encode_json(values: Mapping[str, object], unknown: UnknownKeys = NO_UNKNOWN_KEYS) -> bytes:
    """Encode an object as compact JSON, unknown keys last."""
    return encode_object(values, unknown).encode()


def encode_objects(objects: Mapping[str, tuple[Mapping[str, object], UnknownKeys]]) -> str:
    """Encode an object of objects, each with its unknown keys, as text."""
    return "{" + ",".join(f"{_ENCODER.encode(name)}:{encode_object(*one)}" for name, one in objects.items()) + "}"


def encode_object(values: Mapping[str, object], unknown: UnknownKeys = NO_UNKNOWN_KEYS) -> str:
    """Encode an object as text, to embed it in another object."""
    text = _ENCODER.encode(values)
    if unknown:
        rest = ",".join(f"{_ENCODER.encode(key)}:{value}" for key, value in unknown)
        text = f"{text[:-1]},{rest}}}" if values else f"{{{rest}}}"
    return text


@lru_cache(maxsize=1 << 16)
def intern_ids(ids: tuple[int, ...]) -> tuple[int, ...]:
    """Return the same object for equal lists of brokers, since a cluster has many partitions and few such lists."""
    return ids


def freeze(values: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a read-only mapping."""
    return values if isinstance(values, MappingProxyType) else MappingProxyType(dict(values))


class JsonObject:
    """An object that is being read. Reading a key removes it; the remaining keys are unknown.

    Args:
        value: the decoded object.
        path: the path of the znode, for errors.
        location: the dotted key of the object within the data, for errors.

    Raises:
        ZnodeError: from the constructor and all methods that read, for a value of another type.
    """

    __slots__ = ("_location", "_path", "_values")

    def __init__(self, value: Any, path: str, location: str = "") -> None:
        if type(value) is not dict:
            raise ZnodeError(path, location, f"expected a JSON object, found {_shown(value)}")
        self._values: dict[str, Any] = value
        self._path = path
        self._location = location

    @classmethod
    def decode(cls, data: bytes, path: str) -> JsonObject:
        """Decode the object at the start of the data."""
        return cls(decode_json(data, path), path)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def names(self) -> list[str]:
        """Return the keys that have not been read."""
        for key in self._values:
            if not _is_encodable(key):
                raise self.error("", f"invalid key {_shown(key)}: it contains a lone surrogate")
        return list(self._values)

    def error(self, key: str, reason: str) -> ZnodeError:
        """Return the error to raise for a key, or for the object if the key is empty."""
        return ZnodeError(self._path, self._full_key(key) if key else self._location, reason)

    def _full_key(self, key: str) -> str:
        return f"{self._location}.{key}" if self._location else key

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        """Read a value of any type."""
        value = self._values.pop(key, default)
        if value is _REQUIRED:
            raise self.error(key, "is missing")
        return value

    def text(self, key: str) -> str:
        """Return the JSON text of a value that is still to be read."""
        return _ENCODER.encode(self._values[key])

    def ignore(self, *keys: str) -> None:
        """Skip known keys without checking their values."""
        for key in keys:
            self._values.pop(key, None)

    def timestamp(self) -> int | None:
        """Read the optional `timestamp`: milliseconds since 1970, which Kafka writes as a string.

        A value that is not an integer of 64 bits stays an unknown key, so it is written back unchanged.
        """
        value = self._values.get("timestamp")
        if type(value) is str and _INTEGER.fullmatch(value):
            value = int(value)
        if type(value) is not int or not _fits(value, 64):
            return None
        del self._values["timestamp"]
        return value

    def integer(self, key: str, default: Any = _REQUIRED, *, bits: int = 32) -> Any:
        """Read an integer; the default applies only if the key is missing."""
        if key not in self._values:
            return self._default(key, default)
        value = self._values.pop(key)
        if type(value) is not int or not _fits(value, bits):
            raise self.error(key, f"expected an integer of {bits} bits, found {_shown(value)}")
        return value

    def string(self, key: str, default: Any = _REQUIRED) -> Any:
        """Read a string; the default applies only if the key is missing."""
        if key not in self._values:
            return self._default(key, default)
        value = self._values.pop(key)
        if type(value) is not str:
            raise self.error(key, f"expected a string, found {_shown(value)}")
        if not _is_encodable(value):
            raise self.error(key, f"invalid string {_shown(value)}: it contains a lone surrogate")
        return value

    def znode_name(self, key: str) -> str:
        """Read a string that is a valid name of a znode."""
        name: str = self.string(key)
        if name in {"", ".", ".."} or _INVALID_IN_ZNODE_NAME.search(name):
            raise self.error(key, f"expected the name of a znode, found {_shown(name)}")
        return name

    def integer_string(self, key: str) -> int:
        """Read an integer of 64 bits that is written as a string."""
        text = self.string(key)
        if _INTEGER.fullmatch(text) is None or not _fits(int(text), 64):
            raise self.error(key, f"expected an integer of 64 bits as a string, found {_shown(text)}")
        return int(text)

    def optional_string(self, key: str) -> str | None:
        """Read a string, or None if it is null or missing."""
        if self._values.get(key) is None:
            self._values.pop(key, None)
            return None
        text: str = self.string(key)
        return text

    def integers(self, key: str, default: Any = _REQUIRED) -> Any:
        """Read a list of integers of 32 bits as an interned tuple."""
        if key not in self._values:
            return self._default(key, default)
        values = self._array(key)
        if not all(type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF for value in values):
            raise self.error(key, f"expected a list of integers, found {_shown(values)}")
        return intern_ids(tuple(values))

    def strings(self, key: str) -> tuple[str, ...]:
        """Read a list of strings."""
        values = self._array(key)
        if not all(type(value) is str and _is_encodable(value) for value in values):
            raise self.error(key, f"expected a list of strings, found {_shown(values)}")
        return tuple(values)

    def string_map(self, key: str) -> dict[str, str]:
        """Read an object of strings."""
        inner = self.object(key)
        return {name: inner.string(name) for name in inner.names()}

    def object(self, key: str) -> JsonObject:
        """Read an object."""
        return JsonObject(self.take(key), self._path, self._full_key(key))

    def objects(self, key: str) -> list[JsonObject]:
        """Read a list of objects."""
        values = self._array(key)
        return [JsonObject(value, self._path, f"{self._full_key(key)}[{index}]") for index, value in enumerate(values)]

    def unknown(self) -> UnknownKeys:
        """Return the keys that have not been read."""
        if not self._values:
            return NO_UNKNOWN_KEYS
        return tuple((key, _ENCODER.encode(value)) for key, value in self._values.items())

    def _array(self, key: str) -> list[Any]:
        value = self.take(key)
        if type(value) is not list:
            raise self.error(key, f"expected a list, found {_shown(value)}")
        return value

    def _default(self, key: str, default: Any) -> Any:
        if default is _REQUIRED:
            raise self.error(key, "is missing")
        return default


def _fits(number: int, bits: int) -> bool:
    """Return whether the number is a signed integer of this size."""
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def _is_encodable(text: str) -> bool:
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
    except ValueError:  # an integer with more digits than Python converts to text
        text = "a number that is too long to show"
    return text if len(text) <= 60 else f"{text[:60]}..."
