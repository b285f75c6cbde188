"""The complete list of inputs that Kafka's Java classes accept and kwire rejects, with kwire's errors.

Java accepts many bytes that a conforming writer never produces; kwire rejects them. kwire must accept everything else
that Java accepts, with the same value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType

if TYPE_CHECKING:
    from kwire import DecodeError
    from kwire.declare import Struct

NEGATIVE_IN_JAVA = 0x7FFF_FFFF
"""Java reads varint counts and sizes of 2^31 or more as negative, and treats most of them as null or zero."""

REASONS = {
    "a negative length or count, which Java reads as null": "negative_length",
    "a varint of 2^31 or more, which Java reads as negative": "count_exceeds_input truncated too_long",
    "bits beyond the 32nd in a varint": "varint_overflow",
    "tags that are not ascending": "tag_order",
    "a tagged field with a value larger than its size": "truncated count_exceeds_input",
    "a tagged field with a value smaller than its size": "tag_size",
    "invalid UTF-8, which Java reads with replacement characters": "invalid_utf8",
    "a nullable struct's marker other than 1 and -1": "invalid_marker",
    "bytes after the message": "trailing_bytes",
}
"""The error kinds of each reason."""


def reason(error: DecodeError, cls: type[Struct]) -> str:
    """Return which of `REASONS` explains an error for bytes that Java accepts, or raise AssertionError."""
    for text, kinds in REASONS.items():
        if error.kind not in kinds.split():
            continue
        if text.startswith("a varint of 2^31"):
            if error.kind == "too_long" or (error.wanted or 0) >= NEGATIVE_IN_JAVA:
                return text
        elif text.startswith("a tagged field with a value larger"):
            if in_tagged_field(error.path, StructType(cls)):
                return text
        else:
            return text
    raise AssertionError(f"Java accepts this, but no reason is listed for the error: {error}")


def in_tagged_field(path: tuple[str | int, ...], at: WireType) -> bool:
    """Return whether a path from `at` contains a tagged field."""
    match at:
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return in_tagged_field(path, inner)
        case ArrayType(element=element) if path:
            return in_tagged_field(path[1:], element)
        case StructType(struct=struct) if path:
            named = {f.name: f for f in fields(struct)}
            f = named[str(path[0])]
            return f.tag is not None or in_tagged_field(path[1:], f.type)
    return False
