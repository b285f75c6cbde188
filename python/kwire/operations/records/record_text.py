"""Keys and values of records as text: by the names of Kafka's decoders, or as JSON for records of internal topics."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kwire.errors import KwireError
from kwire.jsonform import to_json
from kwire.operations.parameters import InvalidArgument
from kwire.records import internal_record

if TYPE_CHECKING:
    from kwire.records import Record

__all__ = ["RecordContents", "RecordDecoder", "compact_json", "decoder", "plain_contents", "topic_contents"]

RecordDecoder: TypeAlias = Callable[[bytes], str]
RecordContents: TypeAlias = "Callable[[Record], tuple[str | None, str | None]]"
"""Function that returns the key and the value of a record as text; None for a part that is not printed."""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _number(layout: str) -> RecordDecoder:
    def decode(data: bytes) -> str:
        return str(struct.unpack(layout, data)[0]) if len(data) == struct.calcsize(layout) else data.hex()

    return decode


DECODERS: Mapping[str, RecordDecoder] = {
    "string": _text,
    "default": bytes.hex,
    "hex": bytes.hex,
    "bytearray": bytes.hex,
    "long": _number(">q"),
    "integer": _number(">i"),
}


def decoder(name: str) -> RecordDecoder:
    """Return the decoder for a name such as `kafka.serializer.StringDecoder`, `StringDeserializer`, or `String`.

    Raises:
        InvalidArgument: the decoder is unknown.
    """
    short = name.rpartition(".")[2].removesuffix("Decoder").removesuffix("Deserializer").lower()
    if short not in DECODERS:
        raise InvalidArgument(f"unknown decoder {name!r}: there are {', '.join(DECODERS)}")
    return DECODERS[short]


def plain_contents(key: RecordDecoder, value: RecordDecoder) -> RecordContents:
    """Return the function that shows keys and values with two decoders."""

    def contents(record: Record) -> tuple[str | None, str | None]:
        return (
            None if record.key is None else key(record.key),
            None if record.value is None else value(record.value),
        )

    return contents


def topic_contents(topic: str) -> RecordContents:
    """Return the function that shows records of an internal topic as Kafka's `DumpLogSegments` does.

    A record that cannot be decoded is an error in its own line, and the records after it are shown.
    """

    def contents(record: Record) -> tuple[str | None, str | None]:
        try:
            decoded = internal_record(topic, record)
        except KwireError as error:
            return None, f"Error at offset {record.offset}, skipping. {error}"
        if decoded.key is None and decoded.value is None:
            return None, f"Unknown record type {decoded.type} at offset {record.offset}, skipping."
        key = None
        facts: dict[str, object] = {"version": str(decoded.version)}
        if decoded.key is not None:
            key = compact_json({"type": str(decoded.type), "data": to_json(decoded.key, version=0, hide_secrets=True)})
        if decoded.value is None:
            return key, "<DELETE>"
        if decoded.key is None:
            name = type(decoded.value).__name__
            facts = {"type": "".join(f"_{c}" if c.isupper() else c.upper() for c in name).lstrip("_")}
            facts["version"] = decoded.version
        facts["data"] = to_json(decoded.value, version=decoded.version, hide_secrets=True)
        return key, compact_json(facts)

    return contents


def compact_json(document: object) -> str:
    """Return a JSON document in one line, as Kafka's tools print it."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
