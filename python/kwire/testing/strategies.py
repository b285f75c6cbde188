"""Hypothesis strategies for messages, derived from their declarations. They work for user-declared messages too.

    from hypothesis import given
    from kwire.messages.kafka import MetadataResponse
    from kwire.testing import strategies

    @given(strategies.messages(MetadataResponse, version=12))
    def test_cache_accepts_any_response(response): ...

`kwire.encode` accepts every generated message: numbers are in range, nulls appear only where the version allows them,
and fields that the version lacks have their default. Boundary values are as likely as all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("kwire.testing.strategies needs Hypothesis: pip install hypothesis") from error

from kwire.declare.introspect import check_version, describe, fields
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

if TYPE_CHECKING:
    from typing import TypeVar

    from hypothesis.strategies import SearchStrategy

    from kwire.declare import Message
    from kwire.declare.fields import Field

    M = TypeVar("M", bound=Message)

__all__ = ["messages"]

ARRAY_SIZE = 3
"""The largest number of elements of an array. Arrays nest, and three elements are enough to find defects."""


def messages(cls: type[M], *, version: int) -> SearchStrategy[M]:
    """Generate instances of a message that can be encoded in a version. Flexible versions also get unknown tags.

    Args:
        cls: the message class.
        version: one of its versions.

    Raises:
        kwire.UnsupportedVersion: the message has no such version.
    """
    check_version(cls, version)
    return _structs(cls, version, describe(cls).is_flexible(version))


def _structs(cls: Any, version: int, flexible: bool) -> SearchStrategy[Any]:
    in_version = [f for f in fields(cls) if f.in_version(version)]
    values = {f.name: _values_of(f, version, flexible) for f in in_version}
    if flexible:
        values["unknown_tags"] = _unknown_tags(frozenset(f.tag for f in in_version if f.tag is not None))
    return st.builds(cls, **values)


def _values_of(f: Field, version: int, flexible: bool) -> SearchStrategy[Any]:
    type = f.type
    if isinstance(type, NullableType) and not f.nullable_in(version):
        type = type.inner
    values = _values(type, version, flexible)
    # A tagged field at its default is not encoded, so it is a case of its own.
    return values if f.tag is None else st.one_of(st.just(f.default), values)


def _values(type: WireType, version: int, flexible: bool) -> SearchStrategy[Any]:
    match type:
        case Primitive(is_integer=True, lowest=lowest, highest=highest):
            return _integers(lowest, highest)
        case Primitive(name="bool"):
            return st.booleans()
        case Primitive(name="float64"):
            return st.floats(width=64)
        case Primitive(name="uuid"):
            return st.uuids(allow_nil=True)
        case StringType():
            return st.text(st.characters(codec="utf-8"), max_size=20)
        case BytesType():
            return st.binary(max_size=20)
        case ArrayType(element=element):
            return st.lists(_values(element, version, flexible), max_size=ARRAY_SIZE).map(tuple)
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return st.none() | _values(inner, version, flexible)
        case StructType(struct=struct):
            return _structs(struct, version, flexible)
    raise TypeError(f"no strategy for {type!r}")


def _integers(lowest: Any, highest: Any) -> SearchStrategy[int]:
    edges = [edge for edge in (lowest, highest, -1, 0, 1) if lowest <= edge <= highest]
    return st.sampled_from(edges) | st.integers(lowest, highest)


def _unknown_tags(known: frozenset[int]) -> SearchStrategy[dict[int, bytes]]:
    tags = _integers(0, 0xFFFF_FFFF).filter(lambda tag: tag not in known)
    return st.just({}) | st.dictionaries(tags, st.binary(max_size=5), max_size=2)
