"""``TopicMap``: topics by name, never changed; a map with other topics shares nearly all of the old one.

Rules of this file: topics lie in 256 dicts by a hash of their names that is the same in every process, so that a change
copies 1 of 256 parts, and order is the same in every run. Beside them lie, in the same way, the names that could be
mistaken for others (``topic_names``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from kwire.cluster.controller.topic_names import can_collide, collision_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire.cluster.controller.state import Topic

__all__ = ["NO_TOPICS", "TopicMap"]

_PARTS = 256


class TopicMap:
    """An immutable mapping of names to topics, iterated in no meaningful order that is yet always the same."""

    __slots__ = ("_parts", "_similar", "moving_count", "partition_count")

    def __init__(
        self,
        parts: tuple[dict[str, Topic], ...] = ({},) * _PARTS,
        similar: tuple[dict[str, tuple[str, ...]], ...] = ({},) * _PARTS,
        partition_count: int = 0,
        moving_count: int = 0,
    ) -> None:
        self._parts = parts
        self._similar = similar
        self.partition_count = partition_count
        """Of all topics together."""
        self.moving_count = moving_count
        """Topics of which something moves."""

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Topic]:
        for part in self._parts:
            yield from part.values()

    def __contains__(self, name: str) -> bool:
        return name in self._parts[crc32(name.encode()) % _PARTS]

    def get(self, name: str) -> Topic | None:
        """The topic, if there is one of this name."""
        return self._parts[crc32(name.encode()) % _PARTS].get(name)

    def names(self) -> list[str]:
        """Of all topics, sorted."""
        return sorted(name for part in self._parts for name in part)

    def mistaken_for(self, name: str) -> str | None:
        """Another topic whose name cannot be told apart from this one."""
        key = collision_key(name)
        for other in self._similar[crc32(key.encode()) % _PARTS].get(key, ()):
            if other != name:
                return other
        return None

    def replaced(self, topics: Iterable[Topic] = (), gone: Iterable[str] = ()) -> TopicMap:
        """The map with these topics, and without those that are gone."""
        changes: dict[str, Topic | None] = dict.fromkeys(gone)
        changes.update((topic.name, topic) for topic in topics)
        return self._changed(changes) if changes else self

    def _changed(self, changes: Mapping[str, Topic | None]) -> TopicMap:
        parts = list(self._parts)
        similar = list(self._similar)
        own: set[int] = set()
        count, moving = self.partition_count, self.moving_count
        for name, topic in changes.items():
            number = crc32(name.encode()) % _PARTS
            if number not in own:
                own.add(number)
                parts[number] = parts[number].copy()
            part = parts[number]
            before = part.get(name)
            if before is not None:
                count -= len(before.partitions)
                moving -= bool(before.moves)
            if topic is None:
                part.pop(name, None)
            else:
                part[name] = topic
                count += len(topic.partitions)
                moving += bool(topic.moves)
            if (before is None) is not (topic is None) and can_collide(name):
                _note(similar, name, present=topic is not None)
        return TopicMap(tuple(parts), tuple(similar), count, moving)


def _note(similar: list[dict[str, tuple[str, ...]]], name: str, *, present: bool) -> None:
    key = collision_key(name)
    number = crc32(key.encode()) % _PARTS
    part = similar[number] = similar[number].copy()
    names = tuple(other for other in part.get(key, ()) if other != name) + ((name,) if present else ())
    if names:
        part[key] = names
    else:
        del part[key]


NO_TOPICS = TopicMap()
