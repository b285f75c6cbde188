"""Messages as JSON, in Kafka's own form: what its ``JsonConverter`` classes print and its tools read.

Rules of this file: a document is what ``json.loads`` gives (dict, list, str, int, float, bool, None), and what
``to_json`` makes, ``from_json`` takes.

- Names are camelCase, or the field's ``name=``. Only fields of the version appear; a tagged field is left out while
  it is at its default. Unknown tags have no place in a document.
- int64 are numbers; bytes are base64; a uuid is base64url without padding, 22 characters; a double that JSON has no
  number for is "Infinity", "-Infinity" or "NaN"; null stands for null and for MaybeOf's absence.
- ``from_json`` asks for what the constructor asks for: a field with a default may be missing. A name that the version
  does not have is refused, for it would be lost in silence.

Errors are EncodeErrors, since the caller's value is at fault. Their path has the names that the caller wrote: those
of attributes from ``to_json``, those of the document from ``from_json``.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import a2b_base64
from math import inf, isfinite, isnan, nan
from struct import pack
from uuid import UUID

from kwire.declare.field import MISSING
from kwire.declare.introspect import check_version, fields
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    from kwire.declare import Message
    from kwire.declare.field import Field
    from kwire.errors import EncodeKind, PathElement

    Path: TypeAlias = tuple[PathElement, ...]
    M = TypeVar("M", bound=Message)

_UNSET = object()
"""What an attribute holds that nobody has set."""

_SPELLED_DOUBLES = {"Infinity": inf, "-Infinity": -inf, "NaN": nan}


def to_json(message: Message, *, version: int) -> dict[str, Any]:
    """The document of a message. Raises EncodeError for a value that this version cannot hold, with its path."""
    declared: Any = type(message)
    check_version(declared, version)
    return _write_struct(message, declared, version, ())


def from_json(cls: type[M], document: object, *, version: int) -> M:
    """The message of a document. Raises EncodeError for a document that is none of this version, with the path."""
    declared: Any = cls
    check_version(declared, version)
    return _read_struct(document, declared, version, ())  # type: ignore[no-any-return]  # it makes instances of cls


# Writing: attributes to documents.


def _write_struct(struct: object, declared: Any, version: int, path: Path) -> dict[str, Any]:
    if not isinstance(struct, declared):
        raise _refusal(struct, StructType(declared), path)
    document: dict[str, Any] = {}
    for f in fields(declared):
        at = (*path, f.name)
        value = getattr(struct, f.name, _UNSET)
        if not f.in_version(version):
            if not f.ignorable and not _is_default(value, f):
                raise EncodeError("not_in_version", at, f"version {version} cannot say {value!r}")
            continue
        _refuse_null_of_later_versions(value, f, version, at)
        written = _write(value, f.type, version, at)
        if f.tag is None or not _is_default(value, f):
            document[f.json_name] = written
    return document


def _write(value: Any, wire: WireType, version: int, path: Path) -> Any:
    match wire:
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return None if value is None else _write(value, inner, version, path)
        case StructType(struct=struct):
            return _write_struct(value, struct, version, path)
        case ArrayType(element=element) if isinstance(value, tuple):
            return [_write(item, element, version, (*path, index)) for index, item in enumerate(value)]
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
            return _write_uuid(value)
    raise _refusal(value, wire, path)


def _write_double(value: float) -> float | str:
    if isfinite(value):
        return float(value)
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _write_uuid(value: UUID) -> str:
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


# Reading: documents to attributes.


def _read_struct(document: Any, declared: Any, version: int, path: Path) -> Any:
    if not isinstance(document, dict):
        raise _refusal(document, StructType(declared), path)
    present = {f.json_name: f for f in fields(declared) if f.in_version(version)}
    for name in document:
        if name not in present:
            known = any(f.json_name == name for f in fields(declared))
            reason = f"it is not in version {version}" if known else f"{declared.__name__} has no such field"
            raise EncodeError("not_in_version", (*path, name), reason)
    values: dict[str, Any] = {}
    for name, f in present.items():
        at = (*path, name)
        if name in document:
            _refuse_null_of_later_versions(document[name], f, version, at)
            values[f.name] = _read(document[name], f.type, version, at)
        elif f.default is MISSING:
            raise EncodeError("wrong_type", at, "it is missing, and has no default")
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
    raise _refusal(value, wire, path)


def _read_bytes(text: str, path: Path) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise EncodeError("wrong_type", path, f"base64 is wanted: {error}") from None


def _read_double(value: float | str, path: Path) -> float:
    if isinstance(value, str):
        if value not in _SPELLED_DOUBLES:
            wanted = ", ".join(map(repr, _SPELLED_DOUBLES))
            raise EncodeError("wrong_type", path, f"a number or one of {wanted} is wanted, not {value!r}")
        return _SPELLED_DOUBLES[value]
    try:
        return float(value)
    except OverflowError:
        raise EncodeError("out_of_range", path, "no double is as large as that") from None


def _read_uuid(text: str, path: Path) -> UUID:
    try:
        found = UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        found = None
    # The decoder passes over characters that are not base64url, so only the way back shows that there were none.
    if found is None or _write_uuid(found) != text:
        raise EncodeError("wrong_type", path, f"22 characters of base64url are wanted, not {text!r}")
    return found


# Both ways.


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_default(value: object, f: Field) -> bool:
    """Whether ``value`` is what the field holds when nobody set it: False is not 0, and doubles compare by bits."""
    if isinstance(value, float) and isinstance(f.default, float):
        return pack(">d", value) == pack(">d", f.default)
    return bool(value == f.default) and isinstance(value, bool) == isinstance(f.default, bool)


def _checked_integer(value: int, wire: WireType, path: Path) -> int:
    assert isinstance(wire, Primitive)
    assert wire.lowest is not None
    assert wire.highest is not None
    if not wire.lowest <= value <= wire.highest:
        raise EncodeError("out_of_range", path, f"{wire!r} goes from {wire.lowest} to {wire.highest}, not to {value}")
    return int(value)  # a plain one: what came may be an IntEnum


def _checked_string(value: str, path: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise EncodeError("invalid_utf8", path, f"{error.object[error.start]!r} has no UTF-8") from None
    return str.__str__(value)  # a plain one: what came may be a StrEnum


def _refuse_null_of_later_versions(value: object, f: Field, version: int, path: Path) -> None:
    if value is None and f.nullable_since > version:
        raise EncodeError("null_not_allowed", path, f"null is allowed from version {f.nullable_since} on")


def _refusal(value: object, wire: WireType, path: Path) -> EncodeError:
    match wire:
        case StructType(struct=struct):
            wanted = struct.__name__
        case ArrayType():
            wanted = "array"
        case StringType():
            wanted = "string"
        case BytesType():
            wanted = "bytes"
        case _:
            wanted = repr(wire)
    found = "unset" if value is _UNSET else type(value).__name__
    kind: EncodeKind = "null_not_allowed" if value is None else "wrong_type"
    return EncodeError(kind, path, f"{wanted} is wanted, not {found}")
