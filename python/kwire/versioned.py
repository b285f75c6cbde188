"""Messages after their version as an int16, as Kafka stores them in records and in the data of groups.

The keys and values of `__consumer_offsets`, the subscription and the assignment of a consumer
(ConsumerProtocolSubscription, ConsumerProtocolAssignment), and DefaultPrincipalData have this form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kwire.codec import decode, encode
from kwire.errors import DecodeError

if TYPE_CHECKING:
    from kwire.codec import BytesLike
    from kwire.declare import Message

__all__ = ["Versioned", "decode_versioned", "encode_versioned", "read_version"]

M = TypeVar("M", bound="Message")

PREFIX = 2
"""Bytes of the version."""


class Versioned(NamedTuple, Generic[M]):
    """A decoded message and the version before it, which can be newer than the declared ones."""

    version: int
    message: M


def decode_versioned(cls: type[M], data: BytesLike, *, newer_as_newest: bool = False) -> Versioned[M]:
    """Decode a message after its version.

    Args:
        cls: the message class.
        data: the version as an int16, and the body.
        newer_as_newest: decode newer versions as the newest declared one, and ignore the bytes after it. The readers of
            ConsumerProtocolSubscription and ConsumerProtocolAssignment do so, because new versions append fields.

    Raises:
        DecodeError: the bytes are not a version and a valid body. Offsets count from the version.
        UnsupportedVersion: the class does not declare the version.
    """
    version = read_version(data)
    body = memoryview(data)[PREFIX:]
    newest = cls.versions.highest
    is_newer = newer_as_newest and version > newest
    try:
        return Versioned(version, decode(cls, body, version=newest if is_newer else version))
    except DecodeError as error:
        if not is_newer or error.kind != "trailing_bytes":
            raise error.shifted(PREFIX) from None
        return Versioned(version, decode(cls, body[: error.offset], version=newest))


def encode_versioned(message: Message, *, version: int) -> bytes:
    """Encode a message after its version. Raises what `kwire.encode` raises."""
    body = encode(message, version=version)
    return version.to_bytes(PREFIX, "big") + body


def read_version(data: BytesLike) -> int:
    """Return the version before a message.

    Raises:
        DecodeError: there are less than two bytes, or the version is negative.
    """
    if len(data) < PREFIX:
        raise DecodeError("truncated", 0, ("version",), PREFIX, len(data))
    version = int.from_bytes(data[:PREFIX], "big", signed=True)
    if version < 0:
        raise DecodeError("invalid_marker", 0, ("version",))
    return version
