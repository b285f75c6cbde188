"""Messages that say their own version, as Kafka stores them in records and in the data of groups.

The version precedes the message as an int16: the keys and values of `__consumer_offsets`, the subscription and the
assignment of a consumer (ConsumerProtocolSubscription, ConsumerProtocolAssignment), and DefaultPrincipalData have this
form. Or it is the first field, named `version`: as an int32 in the data of Kafka Streams, and as an int16 in control
records.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from kwire.codec import decode, encode
from kwire.declare.introspect import fields
from kwire.declare.wire_types import Primitive
from kwire.errors import DecodeError, EncodeError

if TYPE_CHECKING:
    from kwire.codec import BytesLike
    from kwire.declare import Message

__all__ = ["Versioned", "decode_versioned", "encode_versioned", "read_version", "split_version"]

M = TypeVar("M", bound="Message")

PREFIX = 2
"""Bytes of the version."""


class Versioned(NamedTuple, Generic[M]):
    """A decoded message and the version before it, which can be newer than the declared ones."""

    version: int
    message: M


def decode_versioned(cls: type[M], data: BytesLike, *, newer_as_newest: bool = False) -> Versioned[M]:
    """Decode a message and its version.

    Args:
        cls: the message class.
        data: the version as an int16, and the body; only the body if its first field is the version.
        newer_as_newest: decode newer versions as the newest declared one, and ignore the bytes after the fields of any
            version. Kafka's readers of ConsumerProtocolSubscription and ConsumerProtocolAssignment do so, because new
            versions append fields, and clients in other languages append bytes of their own.

    Raises:
        DecodeError: the bytes are not a version and a valid body. Offsets count from the version.
        UnsupportedVersion: the class does not declare the version.
    """
    version, before = split_version(cls, data)
    body = memoryview(data)[before:]
    newest = cls.versions.highest
    known = min(version, newest) if newer_as_newest else version
    try:
        return Versioned(version, decode(cls, body, version=known))
    except DecodeError as error:
        if not newer_as_newest or error.kind != "trailing_bytes":
            raise error.shifted(before) from None
        return Versioned(version, decode(cls, body[: error.offset], version=known))


def encode_versioned(message: Message, *, version: int) -> bytes:
    """Encode a message with its version.

    Raises:
        EncodeError: as from `kwire.encode`, or the message has another version in its first field.
    """
    body = encode(message, version=version)
    field = _version_field(type(message))
    if field is None:
        return version.to_bytes(PREFIX, "big") + body
    if (inside := read_version(body, field.size)) != version:
        raise EncodeError("out_of_range", ("version",), f"{inside} differs from version={version}")
    return body


def split_version(cls: type[Message], data: BytesLike) -> tuple[int, int]:
    """Return the version of a message that says it, and where the body begins.

    Raises:
        DecodeError: as from `read_version`.
    """
    field = _version_field(cls)
    return (read_version(data, PREFIX), PREFIX) if field is None else (read_version(data, field.size), 0)


def read_version(data: BytesLike, size: int = PREFIX) -> int:
    """Return the version before a message, or at its beginning.

    Raises:
        DecodeError: there are less than `size` bytes, or the version is negative.
    """
    if len(data) < size:
        raise DecodeError("truncated", 0, ("version",), size, len(data))
    version = int.from_bytes(data[:size], "big", signed=True)
    if version < 0:
        raise DecodeError("invalid_marker", 0, ("version",))
    return version


def _version_field(cls: type[Message]) -> Primitive | None:
    """Return the type of the first field if it is the version of the message."""
    first = fields(cls)[0] if fields(cls) else None
    return first.type if first is not None and first.name == "version" and isinstance(first.type, Primitive) else None
