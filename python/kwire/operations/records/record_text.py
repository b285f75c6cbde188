"""Keys and values of records as text, by the names of Kafka's decoders."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from kwire.operations.parameters import InvalidArgument

__all__ = ["RecordDecoder", "decoder"]

RecordDecoder: TypeAlias = Callable[[bytes], str]


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
