"""Incremental decoding of successive responses to the same request.

A decoder returns what `kwire.decode` returns. Unchanged parts are the same objects as in the last message, found by
comparing bytes, and `changed` lists the rest. The key of a class identifies its elements in an array. Without the
engine, the decoder compares objects, which is slower.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from kwire.codec import compiled, decode
from kwire.declare.introspect import check_version, fields, key
from kwire.declare.plan_text import plan_source
from kwire.declare.representation import short_value
from kwire.declare.unknown_tags import NO_TAGS
from kwire.declare.wire_types import ArrayType, NullableType, StructType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol, TypeAlias

    from kwire.declare import Message, Struct
    from kwire.declare.field import Field

    BytesLike: TypeAlias = bytes | bytearray | memoryview

    class Memory(Protocol):
        """The last message and its comparison: of the engine, or `ObjectComparison`."""

        def decode(self, data: BytesLike) -> Any: ...
        def reset(self) -> None: ...
        def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None: ...


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
    """The changes of a message since the last one; true if there are any.

    `first` is true for the first message. `fields` has the names of the changed top-level fields in declaration order,
    with `unknown_tags` last. `arrays` has the changes of those that are arrays of structs.
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

    __slots__ = ("_changed", "_cls", "_last", "_memory", "version")

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
        self._last: M | None = None
        self._changed: Changes | None = None

    def decode(self, data: BytesLike) -> M:
        """Decode the body of a message. `bytes` and views of them are kept without a copy.

        Raises:
            DecodeError: the bytes are not a valid body.
        """
        self._changed = None
        self._last = self._memory.decode(data)
        return self._last

    @property
    def changed(self) -> Changes:
        """The changes of the last message, computed on first access; empty before the first message."""
        if self._changed is None:
            self._changed = self._changes()
        return self._changed

    def reset(self) -> None:
        """Forget the last message: the next one is a first message."""
        self._memory.reset()
        self._last = self._changed = None

    def _changes(self) -> Changes:
        if self._last is None:
            return Changes(first=False, fields=(), arrays={})
        found = self._memory.changes()
        if found is None:
            return compare(None, self._last)
        names, arrays, message_before = found
        array_changes = {name: ArrayChanges(*changes) for name, changes in arrays.items()}
        if message_before is not None:
            # The engine only reports that the tagged fields differ, not which of them.
            declared = fields(self._cls)
            tagged = _compare(message_before, self._last, [field for field in declared if field.tag is not None])
            differing = {*names, *tagged.fields}
            names = tuple(name for name in (*(field.name for field in declared), UNKNOWN_TAGS) if name in differing)
            array_changes |= tagged.arrays
        return Changes(first=False, fields=names, arrays=array_changes)


def compare(before: M | None, after: M) -> Changes:
    """Return the changes between two messages by comparing objects."""
    return _compare(before, after, fields(type(after)))


def _compare(before: M | None, after: M, declared: Iterable[Field]) -> Changes:
    """Return the changes in the given fields and in the unknown tags."""
    names, arrays = [], {}
    for field in declared:
        new = getattr(after, field.name)
        old = None if before is None else getattr(before, field.name)
        if before is not None and (old is new or old == new):
            continue
        names.append(field.name)
        if _is_array_of_structs(field.type):
            arrays[field.name] = _compare_arrays(old or (), new or ())
    if after.unknown_tags != (NO_TAGS if before is None else before.unknown_tags):
        names.append(UNKNOWN_TAGS)
    return Changes(before is None, tuple(names), arrays)


def by_key(elements: Iterable[Struct]) -> dict[object, Any]:
    """Return elements by the key of their class; without a key or with a duplicate key, by position."""
    found: dict[object, Any] = {}
    for position, element in enumerate(elements):
        names = key(type(element))
        value = tuple(getattr(element, name) for name in names) if names else position
        found[(value, position) if value in found else value] = element
    return found


def _compare_arrays(before: tuple[Struct, ...], after: tuple[Struct, ...]) -> ArrayChanges:
    old, new = by_key(before), by_key(after)
    common = [each for each in new if each in old]
    positions = {each: position for position, each in enumerate(old)}
    order = [positions[each] for each in common]
    return ArrayChanges(
        added=tuple(element for each, element in new.items() if each not in old),
        removed=tuple(element for each, element in old.items() if each not in new),
        changed=tuple((old[each], new[each]) for each in common if old[each] != new[each]),
        moved=order != sorted(order),
    )


def _is_array_of_structs(type: object) -> bool:
    if isinstance(type, NullableType):
        type = type.inner
    return isinstance(type, ArrayType) and isinstance(type.element, StructType)


def _memory(cls: type[Message], version: int) -> Memory:
    plan = compiled(cls, version)
    try:
        from kwire._kwire import Memory
    except ImportError:
        return ObjectComparison(cls, version)
    keys = [list(key(struct)) for struct in plan_source(cls, version).structs]
    return Memory(plan, keys)


class ObjectComparison:
    """The last two messages, decoded completely and compared as objects; used without the engine."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self._cls = cls
        self._version = version
        self._before: Message | None = None
        self._last: Message | None = None

    def decode(self, data: BytesLike) -> Message:
        self._before = self._last
        self._last = decode(self._cls, data, version=self._version)
        return self._last

    def reset(self) -> None:
        self._before = self._last = None

    def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None:
        if self._before is None or self._last is None:
            return None
        found = compare(self._before, self._last)
        return found.fields, dict(found.arrays), None
