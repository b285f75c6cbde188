"""Incremental decoding of successive responses to the same request.

A decoder returns what `kwire.decode` returns. Unchanged parts are the same objects as in the last message, found by
comparing bytes, and `changed` lists the rest. The key of a class identifies its elements in an array. Without the
engine, the decoder compares objects, which is slower.
"""

from __future__ import annotations

from kwire._util.light_typing import Generic, NamedTuple, TypeVar
from kwire.codec import compiled, decode
from kwire.declare.introspect import check_version, fields, key
from kwire.declare.plan_text import plan_source
from kwire.declare.representation import short_value
from kwire.declare.struct import comparable
from kwire.declare.unknown_tags import NO_TAGS
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType, float64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

    from kwire._kwire import Memory
    from kwire.declare import Message, Struct
    from kwire.declare.fields import Field

    BytesLike: TypeAlias = bytes | bytearray | memoryview


M = TypeVar("M", bound="Message")

UNKNOWN_TAGS = "unknown_tags"
"""The name of the unknown tags in `Changes.fields`; no field can have it."""


class ArrayChanges(NamedTuple):
    """The changes of an array of structs.

    `changed` has pairs (before, after) of different elements with the same key. `moved` is true if the elements in both
    arrays are in a different order.
    """

    added: tuple[Any, ...]
    removed: tuple[Any, ...]
    changed: tuple[tuple[Any, Any], ...]
    moved: bool

    def __repr__(self) -> str:
        return short_value(self)


class Changes(NamedTuple):
    """The changes of a message since the previous message; true if there are any.

    `first` is true for the first message. `fields` has the names of the changed top-level fields in declaration order,
    with `unknown_tags` last. `arrays` has the changes of arrays of structs.
    """

    first: bool
    fields: tuple[str, ...]
    arrays: Mapping[str, ArrayChanges]

    def __bool__(self) -> bool:
        return self.first or bool(self.fields)

    def __repr__(self) -> str:
        return short_value(self)


class Decoder(Generic[M]):
    """Decodes successive responses to the same request; the cost depends on what changed.

    It keeps the last frame and the last two messages. After an invalid frame, `changed` is empty, and the next frame is
    compared with the last valid one. A decoder is not thread-safe.

        decoder = Decoder(MetadataResponse, version=12)
        message = decoder.decode(body)
        for before, after in decoder.changed.arrays["topics"].changed: ...
    """

    __slots__ = ("_before", "_changed", "_cls", "_last", "_memory", "version")

    def __init__(self, cls: type[M], *, version: int) -> None:
        """Create a decoder of one version of a message.

        Raises:
            UnsupportedVersion: the class does not declare `version`.
            DeclarationError: the class is not a message.
        """
        check_version(cls, version)
        self._cls = cls
        self.version = version
        self._memory = _memory(cls, version)
        self._before: M | None = None
        self._last: M | None = None
        self._changed: Changes | None = None

    def decode(self, data: BytesLike) -> M:
        """Decode the body of a message. `bytes` and views of them are kept without a copy.

        Raises:
            DecodeError: the bytes are not a valid body.
        """
        self._changed = None
        self._before = self._last
        if self._memory is None:
            self._last = decode(self._cls, data, version=self.version)
        else:
            self._last = self._memory.decode(data)
        return self._last

    @property
    def changed(self) -> Changes:
        """The changes of the last message, computed on first access; empty before the first message."""
        if self._changed is None:
            self._changed = self._changes()
        return self._changed

    def reset(self) -> None:
        """Forget the previous message: the next message counts as the first."""
        if self._memory is not None:
            self._memory.reset()
        self._before = self._last = self._changed = None

    def _changes(self) -> Changes:
        before, last = self._before, self._last
        if last is None:
            return Changes(first=False, fields=(), arrays={})
        if before is None:
            return compare(None, last)
        engine_changes = None if self._memory is None else self._memory.changes()
        if engine_changes is None:
            return compare(before, last)
        # The engine compares bytes, and equal values can have different bytes, such as a length with a longer varint.
        # It does not report which tagged fields differ.
        names, arrays, message_with_other_tags = engine_changes
        declared = fields(self._cls)
        candidates = [
            f for f in declared if f.name in names or (message_with_other_tags is not None and f.tag is not None)
        ]
        return _compare(before, last, candidates, {name: ArrayChanges(*changes) for name, changes in arrays.items()})


def compare(before: M | None, after: M) -> Changes:
    """Return the changes between two messages by comparing objects."""
    return _compare(before, after, fields(type(after)))


def _compare(
    before: M | None, after: M, declared: Iterable[Field], by_bytes: Mapping[str, ArrayChanges] | None = None
) -> Changes:
    """Return the changes in the given fields and in the unknown tags.

    Args:
        before: the message before, or None.
        after: the message.
        declared: the fields to compare.
        by_bytes: the changes of arrays that are known from comparing bytes.
    """
    names, arrays = [], {}
    for field in declared:
        new = getattr(after, field.name)
        old = None if before is None else getattr(before, field.name)
        if before is not None and (
            old is new or old == new or (_holds_floats(field.type) and comparable(old) == comparable(new))
        ):
            continue
        names.append(field.name)
        if _is_array_of_structs(field.type):
            equal = by_bytes.get(field.name) if by_bytes else None
            arrays[field.name] = _differing(equal, old or (), new or ())
    if after.unknown_tags != (NO_TAGS if before is None else before.unknown_tags):
        names.append(UNKNOWN_TAGS)
    return Changes(before is None, tuple(names), arrays)


def _differing(by_bytes: ArrayChanges | None, before: tuple[Struct, ...], after: tuple[Struct, ...]) -> ArrayChanges:
    """Return the changes of an array without elements that are equal although their bytes differ."""
    if by_bytes is None:
        return _compare_arrays(before, after)
    removed = {_key_of(element) for element in by_bytes.removed}
    if any(_key_of(element) in removed for element in by_bytes.added):
        return _compare_arrays(before, after)  # the keys may be equal although their bytes differ
    return by_bytes._replace(changed=tuple([pair for pair in by_bytes.changed if pair[0] != pair[1]]))


def _key_of(element: Struct) -> tuple[Any, ...]:
    return tuple([getattr(element, name) for name in key(type(element))])


def _compare_arrays(before: tuple[Struct, ...], after: tuple[Struct, ...]) -> ArrayChanges:
    """Return the changes of an array. Elements with the same key are paired as the engine pairs them.

    The next element is expected behind the previous match. If its key differs, the first unpaired element with the same
    key is taken. Elements without a key are paired by position.
    """
    first_of_key: dict[tuple[Any, ...], int] = {}
    keys = [_key_of(element) for element in before]
    for position, element_key in enumerate(keys):
        first_of_key.setdefault(element_key, position)
    free = [True] * len(before)
    added, changed, order = [], [], []
    expected = 0
    for element in after:
        element_key = _key_of(element)
        match: int | None = expected
        if not (expected < len(before) and free[expected] and keys[expected] == element_key):
            match = first_of_key.get(element_key) if element_key else None
        if match is None or not free[match]:
            added.append(element)
            continue
        free[match] = False
        expected = match + 1
        order.append(match)
        if before[match] != element:
            changed.append((before[match], element))
    return ArrayChanges(
        added=tuple(added),
        removed=tuple([element for element, unpaired in zip(before, free, strict=True) if unpaired]),
        changed=tuple(changed),
        moved=order != sorted(order),
    )


def _holds_floats(type: WireType) -> bool:
    """Return whether a value can be or contain a NaN outside of structs, which compare NaN by its bits themselves."""
    while isinstance(type, (ArrayType, NullableType, MaybeType)):
        type = type.element if isinstance(type, ArrayType) else type.inner
    return type == float64


def _is_array_of_structs(type: object) -> bool:
    if isinstance(type, NullableType):
        type = type.inner
    return isinstance(type, ArrayType) and isinstance(type.element, StructType)


def _memory(cls: type[Message], version: int) -> Memory | None:
    """Return the engine's memory of the last message; None without the engine."""
    plan = compiled(cls, version)
    try:
        from kwire._kwire import Memory
    except ImportError:
        return None
    keys = [list(key(struct)) for struct in plan_source(cls, version).structs]
    return Memory(plan, keys)
