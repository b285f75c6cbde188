"""Kafka's JSON form of messages, as in its `JsonConverter` classes and tools.

Documents consist of the types of `json.loads` (dict, list, str, int, float, bool, None). `from_json` accepts what
`to_json` returns.

- Names are camelCase, or the `name=` of the field. A document has only fields of its version; tagged fields with their
  default and unknown tags are left out.
- An int64 is a number, bytes are base64, and a uuid is 22 characters of base64url without padding. Doubles that JSON
  numbers cannot express are "Infinity", "-Infinity", and "NaN". An absent MaybeOf is null.
- The bytes of record batches in `records` fields are base64. Kafka's converters write an empty string in their place.
- `from_json` requires the fields that the constructor requires. It rejects names that the version does not have.

Errors are EncodeErrors. Their path has attribute names in `to_json` and document names in `from_json`.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from math import inf, isfinite, isnan, nan
from struct import pack
from uuid import UUID

from kwire._util.secret import HIDDEN
from kwire.declare.fields import MISSING
from kwire.declare.introspect import check_version, fields
from kwire.declare.lazy import message_of
from kwire.declare.secrets import is_secret
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
)
from kwire.errors import EncodeError
from kwire.uuids import uuid_from_text, uuid_to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    from kwire.declare import Message
    from kwire.declare.fields import Field
    from kwire.errors import EncodeKind, PathElement

    Path: TypeAlias = tuple[PathElement, ...]
    M = TypeVar("M", bound=Message)

_UNSET = object()
"""The value of an attribute that is not set."""

_SPELLED_DOUBLES = {"Infinity": inf, "-Infinity": -inf, "NaN": nan}


def to_json(message: Message, *, version: int, hide_secrets: bool = False) -> dict[str, Any]:
    """Return the JSON document of a message.

    Args:
        message: the message.
        version: a version of the message; the document has the fields of this version.
        hide_secrets: replace the values of sensitive fields by `[hidden]`, for logs. `from_json` cannot restore them.

    Raises:
        EncodeError: a value is invalid or not supported by `version`.
        UnsupportedVersion: the class does not declare `version`.
    """
    message = message_of(message)
    declared: Any = type(message)
    check_version(declared, version)
    return _write_struct(message, declared, version, (), hide_secrets)


def from_json(cls: type[M], document: object, *, version: int) -> M:
    """Return the message of a JSON document.

    Raises:
        EncodeError: the document is not valid for `version`.
        UnsupportedVersion: the class does not declare `version`.
    """
    declared: Any = cls
    check_version(declared, version)
    message: M = _read_struct(document, declared, version, ())
    return message


# Attributes to documents


def _write_struct(struct: object, declared: Any, version: int, path: Path, hide: bool) -> dict[str, Any]:
    if not isinstance(struct, declared):
        raise _wrong_type(struct, StructType(declared), path)
    document: dict[str, Any] = {}
    for f in fields(declared):
        at = (*path, f.name)
        value = getattr(struct, f.name, _UNSET)
        if not f.in_version(version):
            if not f.ignorable and not _is_default(value, f):
                raise EncodeError(
                    "not_in_version", at, f"version {version} does not have this field: its value is {value!r}"
                )
            continue
        _reject_null_of_later_versions(value, f, version, at)
        written = _write(value, f.type, version, at, hide)
        if hide and is_secret(struct, f, value):
            written = HIDDEN
        if f.tag is None or not _is_default(value, f):
            document[f.json_name] = written
    return document


def _write(value: Any, wire: WireType, version: int, path: Path, hide: bool) -> Any:
    match wire:
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return None if value is None else _write(value, inner, version, path, hide)
        case StructType(struct=struct):
            return _write_struct(value, struct, version, path, hide)
        case ArrayType(element=element) if isinstance(value, tuple):
            return [_write(item, element, version, (*path, index), hide) for index, item in enumerate(value)]
        case StringType() if isinstance(value, str):
            return _checked_string(value, path)
        case BytesType() if isinstance(value, bytes):
            return b64encode(value).decode()
        case Primitive(is_integer=True) if _is_int(value):
            return _checked_integer(value, wire, path)
        case Primitive(name="bool") if isinstance(value, bool):
            return value
        case Primitive(name="float64") if isinstance(value, float):
            return _write_double(value)
        case Primitive(name="uuid") if isinstance(value, UUID):
            return uuid_to_text(value)
    raise _wrong_type(value, wire, path)


def _write_double(value: float) -> float | str:
    if isfinite(value):
        return float(value)
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


# Documents to attributes


def _read_struct(document: Any, declared: Any, version: int, path: Path) -> Any:
    if not isinstance(document, dict):
        raise _wrong_type(document, StructType(declared), path)
    present = {f.json_name: f for f in fields(declared) if f.in_version(version)}
    for name in document:
        if not isinstance(name, str):
            raise EncodeError("wrong_type", path, f"expected names as keys, found {name!r}")
        if name not in present:
            is_declared = any(f.json_name == name for f in fields(declared))
            reason = (
                f"version {version} does not have this field"
                if is_declared
                else f"{declared.__name__} has no such field"
            )
            raise EncodeError("not_in_version", (*path, name), reason)
    values: dict[str, Any] = {}
    for name, f in present.items():
        at = (*path, name)
        if name in document:
            _reject_null_of_later_versions(document[name], f, version, at)
            values[f.name] = _read(document[name], f.type, version, at)
        elif f.default is MISSING:
            raise EncodeError("wrong_type", at, "required field is missing")
    return declared(**values)


def _read(value: Any, wire: WireType, version: int, path: Path) -> Any:
    match wire:
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return None if value is None else _read(value, inner, version, path)
        case StructType(struct=struct):
            return _read_struct(value, struct, version, path)
        case ArrayType(element=element) if isinstance(value, (list, tuple)):
            return tuple([_read(item, element, version, (*path, index)) for index, item in enumerate(value)])
        case StringType() if isinstance(value, str):
            return _checked_string(value, path)
        case BytesType() if isinstance(value, str):
            return _read_bytes(value, path)
        case Primitive(is_integer=True) if _is_int(value):
            return _checked_integer(value, wire, path)
        case Primitive(name="bool") if isinstance(value, bool):
            return value
        case Primitive(name="float64") if isinstance(value, (float, str)) or _is_int(value):
            return _read_double(value, path)
        case Primitive(name="uuid") if isinstance(value, str):
            return _read_uuid(value, path)
    raise _wrong_type(value, wire, path)


def _read_bytes(text: str, path: Path) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise EncodeError("wrong_type", path, f"expected base64: {error}") from None


def _read_double(value: float | str, path: Path) -> float:
    if isinstance(value, str):
        if value not in _SPELLED_DOUBLES:
            names = ", ".join(map(repr, _SPELLED_DOUBLES))
            raise EncodeError("wrong_type", path, f"expected a number or one of {names}, found {value!r}")
        return _SPELLED_DOUBLES[value]
    try:
        return float(value)
    except OverflowError:
        raise EncodeError("out_of_range", path, "the number is too large for a double") from None


def _read_uuid(text: str, path: Path) -> UUID:
    try:
        uuid = uuid_from_text(text)
    except ValueError:
        uuid = None
    # A value has one form here: Kafka also accepts padding and other unused bits.
    if uuid is None or uuid_to_text(uuid) != text:
        raise EncodeError("wrong_type", path, f"expected 22 characters of base64url, found {text!r}")
    return uuid


# Both directions


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_default(value: object, f: Field) -> bool:
    """Return whether a value equals the default of its field. False is not 0, and doubles compare by their bits."""
    if isinstance(value, float) and isinstance(f.default, float):
        return pack(">d", value) == pack(">d", f.default)
    return bool(value == f.default) and isinstance(value, bool) == isinstance(f.default, bool)


def _checked_integer(value: int, wire: WireType, path: Path) -> int:
    assert isinstance(wire, Primitive)
    assert wire.lowest is not None
    assert wire.highest is not None
    if not wire.lowest <= value <= wire.highest:
        raise EncodeError("out_of_range", path, f"{wire!r} ranges from {wire.lowest} to {wire.highest}, found {value}")
    return int(value)  # a plain int, because the value can be an IntEnum


def _checked_string(value: str, path: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EncodeError("invalid_utf8", path, f"{error.object[error.start]!r} cannot be encoded as UTF-8") from None
    return str.__str__(value)  # a plain str, because the value can be a StrEnum


def _reject_null_of_later_versions(value: object, f: Field, version: int, path: Path) -> None:
    if value is None and f.nullable_since > version:
        raise EncodeError("null_not_allowed", path, f"null is allowed since version {f.nullable_since}")


def _wrong_type(value: object, wire: WireType, path: Path) -> EncodeError:
    match wire:
        case StructType(struct=struct):
            expected = struct.__name__
        case ArrayType():
            expected = "array"
        case StringType():
            expected = "string"
        case BytesType():
            expected = "bytes"
        case _:
            expected = repr(wire)
    actual = "unset" if value is _UNSET else type(value).__name__
    kind: EncodeKind = "null_not_allowed" if value is None else "wrong_type"
    return EncodeError(kind, path, f"expected {expected}, found {actual}")
