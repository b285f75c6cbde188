"""Records of Kafka's internal topics: messages after their type and version.

    __consumer_offsets, __transaction_state,    key: type as an int16, message in version 0
    __share_group_state                         value: version as an int16, message; none deletes what the key names
    __cluster_metadata, __remote_log_metadata   no key; value: 1, type, and version as unsigned varints, message

The messages are declared in the packages of `kwire.messages` with the names of the topics. See
`CoordinatorRecordSerde` and `AbstractApiMessageSerde` in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.codec import decode, encode
from kwire.errors import DecodeError, KwireError
from kwire.messages import TOPICS, record_classes
from kwire.versioned import PREFIX, decode_versioned, encode_versioned, read_version

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.records.batch import Record

INTERNAL_TOPICS = tuple(f"__{name}" for name in TOPICS)
"""The topics with declared records."""

_WITHOUT_KEYS = frozenset(("__cluster_metadata", "__remote_log_metadata"))
_FRAME_VERSION = 1
"""The only version of the frame around records without keys; Kafka 2.8 wrote 0."""
_KEY_VERSION = 0
_MAX_NUMBER = 0x7FFF
"""Types and versions are int16 in Kafka, although written as varints."""


class UnknownTopic(KwireError, LookupError):
    """No records are declared for a topic (`topic`)."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    def __str__(self) -> str:
        return f"no records are declared for topic {self.topic!r}: expected one of {', '.join(INTERNAL_TOPICS)}"


class InternalRecord(NamedTuple):
    """The decoded key and value of a record of an internal topic.

    Attributes:
        type: the number of the kind of record in its topic.
        key: the key; None in topics without keys, and if the type is unknown.
        value: the value; None if the record deletes what its key names, and if the type is unknown.
        version: the version of the value; 0 without a value.
    """

    type: int
    key: Message | None
    value: Message | None
    version: int


def internal_record(topic: str, record: Record) -> InternalRecord:
    """Decode the key and the value of a record of an internal topic.

    A type that kwire does not know has neither key nor value, as Kafka's own readers skip it. Control records of
    `__cluster_metadata` are decoded by `control_record`.

    Raises:
        UnknownTopic: no records are declared for the topic.
        DecodeError: the key or the value is invalid. Its path begins with `key` or `value`.
        UnsupportedVersion: the value has a version that is not declared.
    """
    if topic not in INTERNAL_TOPICS:
        raise UnknownTopic(topic)
    part = "value" if topic in _WITHOUT_KEYS else "key"
    try:
        if topic in _WITHOUT_KEYS:
            return _framed(topic, record.value)
        key_type, key = _key(topic, record.key)
        part = "value"
        if key is None or record.value is None:
            return InternalRecord(key_type, key, None, 0)
        version, value = decode_versioned(record_classes(topic)[key_type, "Value"], record.value)
        return InternalRecord(key_type, key, value, version)
    except DecodeError as error:
        raise DecodeError(error.kind, error.offset, (part, *error.path), error.wanted, error.left) from None


def encode_internal_record(topic: str, record: InternalRecord) -> tuple[bytes | None, bytes | None]:
    """Return the bytes of the key and the value of a record, the inverse of `internal_record`.

    Raises:
        UnknownTopic: no records are declared for the topic.
        EncodeError: a message is invalid, or not supported by the version.
        UnsupportedVersion: the value has a version that is not declared.
    """
    if topic not in INTERNAL_TOPICS:
        raise UnknownTopic(topic)
    value = None
    if topic in _WITHOUT_KEYS:
        if record.value is not None:
            body = encode(record.value, version=record.version)
            value = b"".join(map(_uvarint, (_FRAME_VERSION, record.type, record.version))) + body
        return None, value
    if record.value is not None:
        value = encode_versioned(record.value, version=record.version)
    if record.key is None:
        return None, value
    return record.type.to_bytes(PREFIX, "big") + encode(record.key, version=_KEY_VERSION), value


def _key(topic: str, data: bytes | None) -> tuple[int, Message | None]:
    """Return the type and the key of a record; no key if the type is unknown."""
    if data is None:
        raise DecodeError("null_not_allowed", 0)
    key_type = read_version(data)
    cls = record_classes(topic).get((key_type, "Key"))
    if cls is None:
        return key_type, None
    try:
        return key_type, decode(cls, memoryview(data)[PREFIX:], version=_KEY_VERSION)
    except DecodeError as error:
        raise error.shifted(PREFIX) from None


def _framed(topic: str, data: bytes | None) -> InternalRecord:
    """Decode a value that contains its type."""
    if data is None:
        raise DecodeError("null_not_allowed", 0)
    frame_version, position = _number(data, 0, "frame_version")
    if frame_version != _FRAME_VERSION:
        raise DecodeError("invalid_marker", 0, ("frame_version",))
    record_type, position = _number(data, position, "type")
    version, position = _number(data, position, "version")
    cls = record_classes(topic).get((record_type, "Record"))
    if cls is None:
        return InternalRecord(record_type, None, None, version)
    try:
        return InternalRecord(record_type, None, decode(cls, memoryview(data)[position:], version=version), version)
    except DecodeError as error:
        raise error.shifted(position) from None


def _number(data: bytes, start: int, name: str) -> tuple[int, int]:
    """Return the unsigned varint at a position, and the position after it."""
    number = 0
    for position, byte in enumerate(data[start : start + 5], start):
        number |= (byte & 0x7F) << 7 * (position - start)
        if byte < 0x80:
            if number > _MAX_NUMBER:
                break
            return number, position + 1
    else:
        if len(data) < start + 5:
            raise DecodeError("truncated", start, (name,), 1, 0)
    raise DecodeError("varint_overflow", start, (name,))


def _uvarint(number: int) -> bytes:
    """Return an unsigned varint."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*digits, number))
