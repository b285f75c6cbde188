"""Keys and values of records as text: by the names of Kafka's decoders, or as JSON for records of internal topics."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from kwire.errors import KwireError
from kwire.jsonform import to_json
from kwire.messages.consumer_offsets import GroupMetadataValue
from kwire.messages.kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kwire.messages.transaction_state import TransactionLogValue
from kwire.records import internal_record
from kwire.versioned import decode_versioned
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from kwire.declare import Message
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


TRANSACTION_STATES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    "PrepareEpochFence",
)
"""Names of the states of transactions, by their number (`TransactionState` in Kafka)."""

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
        facts["data"] = _value_document(decoded.value, decoded.version)
        return key, compact_json(facts)

    return contents


def _value_document(value: Message, version: int) -> object:
    """Return a value in Kafka's JSON form, with the names and the embedded data that Kafka's tool shows instead."""
    document: Any = to_json(value, version=version, hide_secrets=True)
    if isinstance(value, TransactionLogValue):
        status = value.transaction_status
        known = 0 <= status < len(TRANSACTION_STATES)
        document["transactionStatus"] = TRANSACTION_STATES[status] if known else str(status)
    elif isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        for member, shown in zip(value.members, document["members"], strict=True):
            _show_embedded(shown, "subscription", ConsumerProtocolSubscription, member.subscription)
            _show_embedded(shown, "assignment", ConsumerProtocolAssignment, member.assignment)
    return document


def _show_embedded(document: Any, name: str, cls: type[Message], data: bytes) -> None:
    """Replace the bytes of a field by the message in it; invalid bytes stay, as in Kafka's tool."""
    with suppress(KwireError):
        version, message = decode_versioned(cls, data)
        document[name] = to_json(message, version=version)


def compact_json(document: object) -> str:
    """Return a JSON document in one line, as Kafka's tools print it."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
