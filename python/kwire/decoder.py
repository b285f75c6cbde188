"""``Decoder``: reads one message after another, and remembers the last.

Rules of this file: what a decoder gives is what ``kwire.decode`` gives. What has not changed since the last message is
the very same objects as then, found by comparing bytes; ``changed`` tells the rest. Elements of arrays are told apart
by the key that their class declares. Without the engine the same is found by comparing objects, slowly.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from kwire.codec import compiled, decode
from kwire.declare.introspect import check_version, fields, key
from kwire.declare.plan_text import plan_source
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
        """What remembers: the engine's, or ``Comparing``."""

        def decode(self, data: BytesLike) -> Any: ...
        def reset(self) -> None: ...
        def changes(self) -> tuple[tuple[str, ...], dict[str, Any], Any] | None: ...


M = TypeVar("M", bound="Message")

UNKNOWN_TAGS = "unknown_tags"
"""Stands among the names of fields; no field can have this name."""


class ArrayChanges(NamedTuple):
    """What differs in an array of structs.

    ``changed``: pairs (before, after) of elements with one key, that are not equal. ``moved``: those that are in both
    arrays come in another order.
    """

    added: tuple[Any, ...]
    removed: tuple[Any, ...]
    changed: tuple[tuple[Any, Any], ...]
    moved: bool


class Changes(NamedTuple):
    """What a message changed, against the one before; true when that is anything.

    ``first``: there was none before, so that everything is new. ``fields``: names of the message's own fields whose
    value differs, in the order of declaration, ``unknown_tags`` last. ``arrays``: for those of them that are arrays of
    structs, what differs in them.
    """

    first: bool
    fields: tuple[str, ...]
    arrays: Mapping[str, ArrayChanges]

    def __bool__(self) -> bool:
        return self.first or bool(self.fields)


class Decoder(Generic[M]):
    """Reads the answers to one question, asked again and again, at the cost of what changed.

    It holds the last frame and the last two messages. A frame that is refused changes nothing: ``changed`` is empty
    then, and the next frame is compared with the last good one. Not for two threads at once.

        decoder = Decoder(MetadataResponse, version=12)
        message = decoder.decode(body)
        for before, after in decoder.changed.arrays["topics"].changed: ...
    """

    __slots__ = ("_changed", "_cls", "_last", "_memory", "version")

    def __init__(self, cls: type[M], *, version: int) -> None:
        """Raises UnsupportedVersion, DeclarationError."""
        check_version(cls, version)
        self._cls = cls
        self.version = version
        self._memory = _memory(cls, version)
        self._last: M | None = None
        self._changed: Changes | None = None

    def decode(self, data: BytesLike) -> M:
        """Read the body of one message. Raises DecodeError, as ``kwire.decode``.

        ``bytes``, and views of them, are kept as they are; other bytes-likes are copied.
        """
        self._changed = None
        self._last = self._memory.decode(data)
        return self._last

    @property
    def changed(self) -> Changes:
        """What the last message changed. Worked out when it is first asked for. Before the first one: nothing."""
        if self._changed is None:
            self._changed = self._work_out()
        return self._changed

    def reset(self) -> None:
        """Forget what was read: the next message is a first one."""
        self._memory.reset()
        self._last = self._changed = None

    def _work_out(self) -> Changes:
        if self._last is None:
            return Changes(first=False, fields=(), arrays={})
        told = self._memory.changes()
        if told is None:
            return compare(None, self._last)
        names, arrays, before_tags = told
        found = {name: ArrayChanges(*differs) for name, differs in arrays.items()}
        if before_tags is not None:
            # The engine says that the tag section differs, and not where.
            declared = fields(self._cls)
            tagged = _compare(before_tags, self._last, [field for field in declared if field.tag is not None])
            differing = {*names, *tagged.fields}
            names = tuple(name for name in (*(field.name for field in declared), UNKNOWN_TAGS) if name in differing)
            found |= tagged.arrays
        return Changes(first=False, fields=names, arrays=found)


def compare(before: M | None, after: M) -> Changes:
    """The same for two messages, object by object: for when no decoder remembers the one before."""
    return _compare(before, after, fields(type(after)))


def _compare(before: M | None, after: M, declared: Iterable[Field]) -> Changes:
    """In these fields, and in the unknown tags."""
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
    """Elements by their class's key; those without one, or with one that is taken, are told apart by their place."""
    found: dict[object, Any] = {}
    for place, element in enumerate(elements):
        names = key(type(element))
        value = tuple(getattr(element, name) for name in names) if names else place
        found[(value, place) if value in found else value] = element
    return found


def _compare_arrays(before: tuple[Struct, ...], after: tuple[Struct, ...]) -> ArrayChanges:
    old, new = by_key(before), by_key(after)
    stayed = [each for each in new if each in old]
    places = {each: place for place, each in enumerate(old)}
    order = [places[each] for each in stayed]
    return ArrayChanges(
        added=tuple(element for each, element in new.items() if each not in old),
        removed=tuple(element for each, element in old.items() if each not in new),
        changed=tuple((old[each], new[each]) for each in stayed if old[each] != new[each]),
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
        return Comparing(cls, version)
    keys = [list(key(struct)) for struct in plan_source(cls, version).structs]
    return Memory(plan, keys)


class Comparing:
    """Remembers without the engine: decodes whole, and compares whole."""

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
