"""What Java accepts and kwire refuses: the whole list, each with the error that kwire raises for it.

Kafka's Java classes take many bytes that no conforming writer makes; kwire takes none of these. Whatever else Java
accepts, kwire has to accept, with the same value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType

if TYPE_CHECKING:
    from kwire import DecodeError
    from kwire.declare import Struct

NEGATIVE_IN_JAVA = 0x7FFF_FFFF
"""From 2^31 on, counts and sizes that are varints are negative to Java, which takes most of them for null or zero."""

REASONS = {
    "a negative length or count, which Java takes for null": "negative_length",
    "a varint of 2^31 or more, which Java takes for a negative one": "count_exceeds_input truncated too_long",
    "bits beyond the 32nd in a varint": "varint_overflow",
    "tags that are not ascending": "tag_order",
    "a tag's value that needs more bytes than the tag's size says": "truncated count_exceeds_input",
    "a tag's value that needs fewer": "tag_size",
    "UTF-8 that is none, which Java reads with replacement characters": "invalid_utf8",
    "a nullable struct's marker other than 1 and -1": "invalid_marker",
    "bytes behind the message": "trailing_bytes",
}
"""Reason -> the kinds of errors that may stand for it."""


def reason(error: DecodeError, cls: type[Struct]) -> str:
    """Which of ``REASONS`` explains an error about bytes that Java accepts. AssertionError when none does."""
    for text, kinds in REASONS.items():
        if error.kind not in kinds.split():
            continue
        if text.startswith("a varint of 2^31"):
            if error.kind == "too_long" or (error.wanted or 0) >= NEGATIVE_IN_JAVA:
                return text
        elif text.startswith("a tag's value that needs more"):
            if in_tagged_field(error.path, StructType(cls)):
                return text
        else:
            return text
    raise AssertionError(f"Java accepts this, and nothing says why kwire does not: {error}")


def in_tagged_field(path: tuple[str | int, ...], at: WireType) -> bool:
    """Whether a path from ``at`` goes through a tagged field."""
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
