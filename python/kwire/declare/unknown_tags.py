"""Tagged fields that a declaration does not know.

The fields are kept as raw bytes (tag, size, and content of each) and parsed on first access, because a frame can carry
ten thousand of them. Objects without unknown tags share `NO_TAGS`.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class UnknownTags(Mapping["int", "bytes"]):
    """An immutable, hashable mapping of tag to content, ascending by tag."""

    __slots__ = ("_by_tag", "_raw")

    _raw: bytes
    _by_tag: dict[int, bytes] | None

    def __init__(self, raw: bytes = b"") -> None:
        """Wrap entries as on the wire, without their count. The caller guarantees that they are valid and in order."""
        object.__setattr__(self, "_raw", raw)
        object.__setattr__(self, "_by_tag", None)

    @property
    def raw(self) -> bytes:
        """The entries as on the wire, without their count."""
        return self._raw

    def _parsed(self) -> dict[int, bytes]:
        """Return the entries as a dict, which is built once so that look-ups do not parse all entries."""
        by_tag = self._by_tag
        if by_tag is None:
            by_tag = dict(_entries(self._raw))
            object.__setattr__(self, "_by_tag", by_tag)
        return by_tag

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("unknown tags are immutable: create new ones from a dict")

    def __getitem__(self, tag: int) -> bytes:
        return self._parsed()[tag]

    def __iter__(self) -> Iterator[int]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __bool__(self) -> bool:
        return bool(self.raw)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, UnknownTags):
            return self.raw == other.raw
        return Mapping.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((UnknownTags, self.raw))

    def __repr__(self) -> str:
        return repr(self._parsed())

    def __reduce__(self) -> Any:
        return UnknownTags, (self.raw,)


NO_TAGS = UnknownTags()
"""The shared empty mapping."""


def unknown_tags(tags: object) -> UnknownTags:
    """Convert a mapping of tag to bytes.

    Raises:
        TypeError: `tags` is not a mapping of int to bytes.
        ValueError: a tag is out of range.
    """
    if isinstance(tags, UnknownTags):
        return tags if tags.raw else NO_TAGS
    if not isinstance(tags, Mapping):
        raise TypeError(f"expected a mapping of tag to bytes, found {type(tags).__name__}")
    raw = bytearray()
    for tag in sorted(tags):
        content = tags[tag]
        if not isinstance(tag, int) or isinstance(tag, bool) or not isinstance(content, bytes):
            raise TypeError("expected a mapping of int to bytes")
        if not 0 <= tag <= 0xFFFF_FFFF:
            raise ValueError(f"tag {tag} is not an unsigned 32-bit number")
        raw += _uvarint(tag) + _uvarint(len(content)) + content
    return UnknownTags(bytes(raw)) if raw else NO_TAGS


def _entries(raw: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position < len(raw):
        tag, position = _read_uvarint(raw, position)
        size, position = _read_uvarint(raw, position)
        yield tag, raw[position : position + size]
        position += size


def _read_uvarint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
