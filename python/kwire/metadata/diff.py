"""Keyed diff: compare lists of brokers, topics, partitions, and configs by key instead of position.

A change is a pair (before, after): `before` is None for an added element, `after` is None for a removed one. Elements
that are the same object or equal are skipped, so the cost depends on the changes. Orders differ between responses of
one broker and have no meaning, so that `is_same` and `is_equivalent` ignore them: the former knows what a decoder
found to differ, the latter compares two messages.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from kwire.declare.introspect import fields
from kwire.declare.introspect import key as declared_key
from kwire.declare.wire_types import ArrayType, NullableType, StructType
from kwire.metadata.fields import (
    UNKNOWN_TOPIC,
    PartitionFields,
    partition_fields_of,
    partitions_by_index,
    topic_error_code,
    topic_name,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from kwire.declare import Message, Struct
    from kwire.declare.wire_types import WireType
    from kwire.decoder import Changes

__all__ = [
    "Change",
    "array_changes",
    "is_equivalent",
    "is_same",
    "keyed_changes",
    "partition_changes",
    "topic_changes",
]

K = TypeVar("K")
T = TypeVar("T")

Change: TypeAlias = "tuple[T | None, T | None]"


def keyed_changes(before: Mapping[K, T], after: Mapping[K, T]) -> Iterator[tuple[K, T | None, T | None]]:
    """Yield key, before, and after of what differs between two mappings; removed elements come last."""
    for key, new in after.items():
        old = before.get(key)
        if old is not new and old != new:
            yield key, old, new
    if before.keys() - after.keys():
        for key, old in before.items():
            if key not in after:
                yield key, old, None


def array_changes(changes: Changes, name: str) -> Iterator[Change[Any]]:
    """Yield before and after of the elements that `kwire.Decoder` found to differ in an array of a message."""
    array = changes.arrays.get(name)
    if array is not None:
        yield from ((None, after) for after in array.added)
        yield from array.changed
        yield from ((before, None) for before in array.removed)


def topic_changes(
    known: Mapping[str, Any], topics: Iterable[Any], *, complete: bool
) -> tuple[Mapping[str, Any], list[Change[Any]]]:
    """Compare the topics of a response with the topics that were known before.

    Args:
        known: topics by name.
        topics: the topics of the response. Topics without a name are skipped: they were requested by an unknown id.
        complete: True if the request was for all topics, so that other topics do not exist. Otherwise topics that are
            not in the response remain known, and topics with error 3 do not exist.

    Returns:
        The topics that are known now, and the changes.
    """
    reported: dict[str, Any] = {}
    unknown: list[str] = []
    changes: list[Change[Any]] = []
    for topic in topics:
        name = topic_name(topic)
        if name is None:
            continue
        if not complete and topic_error_code(topic) == UNKNOWN_TOPIC:
            unknown.append(name)
            continue
        reported[name] = topic
        old = known.get(name)
        if old is not topic and old != topic:
            changes.append((old, topic))
    if complete:
        if len(known) != len(reported) or known.keys() != reported.keys():
            changes += [(topic, None) for name, topic in known.items() if name not in reported]
        return reported, changes
    changes += [(known[name], None) for name in unknown if name in known]
    return {name: topic for name, topic in {**known, **reported}.items() if name not in unknown}, changes


def partition_changes(
    before: Any, after: Any, *, recreated: bool = False
) -> Iterator[tuple[int, PartitionFields | None, PartitionFields | None]]:
    """Yield index, before, and after of the partitions that differ between two states of a topic.

    Args:
        before: the topic before; None if it is new.
        after: the topic now.
        recreated: True if these are two topics with the same name, so that no partition is the same as before.
    """
    fields = partition_fields_of(after)
    new = partitions_by_index(after)
    if before is None:
        for index, partition in new.items():
            yield index, None, fields(partition)
        return
    old, old_fields = partitions_by_index(before), partition_fields_of(before)
    for index, partition in new.items():
        previous = old.get(index)
        if previous is None or recreated:
            yield index, None, fields(partition)
        elif previous is not partition and previous != partition:
            yield index, old_fields(previous), fields(partition)
    if old.keys() - new.keys():
        for index, previous in old.items():
            if index not in new:
                yield index, old_fields(previous), None


def is_same(changes: Changes) -> bool:
    """Return whether a response reports the same as the one before: order and controller id may differ.

    Under KRaft a broker reports any live broker as the controller.
    """
    if changes.first:
        return False
    for name in changes.fields:
        if name == "controller_id":
            continue
        array = changes.arrays.get(name)
        if array is None or array.added or array.removed:
            return False
        if not all(_differ_in_order_only(before, after) for before, after in array.changed):
            return False
    return True


def is_equivalent(before: Message, after: Message) -> bool:
    """Return whether two responses differ at most in their controller and in the order of keyed elements."""
    if type(before) is not type(after):
        return False
    return _differ_in_order_only(before, after, ignored="controller_id")


def _differ_in_order_only(before: Struct, after: Struct, ignored: str | None = None) -> bool:
    """Return whether two structs have equal fields apart from the order of elements with a declared key.

    Args:
        ignored: the name of a field that may differ; a struct need not have it.
    """
    if before.unknown_tags != after.unknown_tags:
        return False
    cls = cast("Hashable", type(after))  # mypy takes `__hash__` of the instances for the hash of their class
    return all(
        name == ignored
        or (old := getattr(before, name)) is (new := getattr(after, name))
        or old == new
        or (key is not None and old is not None and new is not None and _same_elements(old, new, key))
        for name, key in _fields_and_keys(cls)
    )


def _same_elements(before: tuple[Struct, ...], after: tuple[Struct, ...], key: attrgetter[Any]) -> bool:
    """Compare elements in any order. Arrays with duplicate keys are only equal in the same order."""
    by_key = {key(element): element for element in before}
    if not len(by_key) == len(before) == len(after):
        return False
    for element in after:
        old = by_key.pop(key(element), None)
        if old is None or not (old == element or _differ_in_order_only(old, element)):
            return False
    return True


@cache
def _fields_and_keys(cls: type[Struct]) -> tuple[tuple[str, attrgetter[Any] | None], ...]:
    """Return the fields of a struct, each with the key of its elements if it is an array with a declared key."""
    return tuple((field.name, _key_of(field.type)) for field in fields(cls))


def _key_of(type: WireType) -> attrgetter[Any] | None:
    if isinstance(type, NullableType):
        type = type.inner
    if isinstance(type, ArrayType) and isinstance(type.element, StructType):
        names = declared_key(type.element.struct)
        return attrgetter(*names) if names else None
    return None
