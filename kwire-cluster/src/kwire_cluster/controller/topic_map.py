"""An immutable map of topics by name.

Topics are kept in 256 dicts, chosen by a hash of the name that is the same in every process. A change therefore copies
1 of 256 parts, and iteration has the same order in every run. Names that can collide (`topic_names`) are kept the same
way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from kwire_cluster.controller.topic_names import can_collide, collision_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kwire_cluster.controller.topic_state import Topic

_PARTS = 256


class TopicMap:
    """An immutable mapping of names to topics. The iteration order is arbitrary, but always the same."""

    __slots__ = ("_colliding", "_parts", "partition_count", "reassigning_count")

    def __init__(
        self,
        parts: tuple[dict[str, Topic], ...] = ({},) * _PARTS,
        colliding: tuple[dict[str, tuple[str, ...]], ...] = ({},) * _PARTS,
        partition_count: int = 0,
        reassigning_count: int = 0,
    ) -> None:
        self._parts = parts
        self._colliding = colliding
        self.partition_count = partition_count
        """The number of partitions of all topics."""
        self.reassigning_count = reassigning_count
        """The number of topics with an ongoing reassignment."""

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Topic]:
        for part in self._parts:
            yield from part.values()

    def __contains__(self, name: str) -> bool:
        return name in self._parts[crc32(name.encode()) % _PARTS]

    def get(self, name: str) -> Topic | None:
        """Return the topic with this name."""
        return self._parts[crc32(name.encode()) % _PARTS].get(name)

    def names(self) -> list[str]:
        """Return the sorted names of all topics."""
        return sorted(name for part in self._parts for name in part)

    def colliding_topic(self, name: str) -> str | None:
        """Return the name of another topic that collides with `name`."""
        key = collision_key(name)
        for other in self._colliding[crc32(key.encode()) % _PARTS].get(key, ()):
            if other != name:
                return other
        return None

    def updated(self, topics: Iterable[Topic] = (), removed: Iterable[str] = ()) -> TopicMap:
        """Return a map with these topics added or replaced and the names in `removed` left out."""
        changes: dict[str, Topic | None] = dict.fromkeys(removed)
        changes.update((topic.name, topic) for topic in topics)
        return self._changed(changes) if changes else self

    def _changed(self, changes: Mapping[str, Topic | None]) -> TopicMap:
        parts = list(self._parts)
        colliding = list(self._colliding)
        copied: set[int] = set()
        partitions, reassigning = self.partition_count, self.reassigning_count
        for name, topic in changes.items():
            number = crc32(name.encode()) % _PARTS
            if number not in copied:
                copied.add(number)
                parts[number] = parts[number].copy()
            part = parts[number]
            before = part.get(name)
            if before is not None:
                partitions -= len(before.partitions)
                reassigning -= bool(before.reassignments)
            if topic is None:
                part.pop(name, None)
            else:
                part[name] = topic
                partitions += len(topic.partitions)
                reassigning += bool(topic.reassignments)
            if (before is None) is not (topic is None) and can_collide(name):
                _update_colliding(colliding, name, present=topic is not None)
        return TopicMap(tuple(parts), tuple(colliding), partitions, reassigning)


def _update_colliding(colliding: list[dict[str, tuple[str, ...]]], name: str, *, present: bool) -> None:
    key = collision_key(name)
    number = crc32(key.encode()) % _PARTS
    part = colliding[number] = colliding[number].copy()
    names = tuple(other for other in part.get(key, ()) if other != name) + ((name,) if present else ())
    if names:
        part[key] = names
    else:
        del part[key]


NO_TOPICS = TopicMap()
