"""What is different between two answers: which elements came, went and changed, and what that means.

Rules of this file: the cost follows what changed, since what ``kwire.Decoder`` found unchanged is not looked at, and
inside a changed topic a partition that is the same object is passed over. Brokers, topics and partitions are told apart
by id, never by place; a set of replicas is compared as a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.declare import Struct
from kwire.decoder import by_key
from kwire.metadata.events import (
    BrokerChanged,
    BrokerJoined,
    BrokerLeft,
    ConfigChanged,
    ControllerMoved,
    IsrExpanded,
    IsrShrank,
    LeaderLost,
    LeaderMoved,
    LeaderReelected,
    MetadataEvent,
    OfflineReplicasChanged,
    PartitionsAdded,
    PartitionsMissing,
    ReplicasChanged,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kwire.declare import Message
    from kwire.decoder import Changes

__all__ = ["metadata_events", "same"]

NO_LEADER = -1
NO_EPOCH = -1
RESOURCES = {2: "topic", 4: "broker"}


def same(changes: Changes) -> bool:
    """Whether an answer says what the one before said: all but the controller id, elements in any order."""
    if changes.first:
        return False
    for name in changes.fields:
        if name == "controller_id":
            continue
        array = changes.arrays.get(name)
        if array is None or array.added or array.removed:
            return False
        if not all(_same_in_any_order(before, after) for before, after in array.changed):
            return False
    return True


def _same_in_any_order(before: Any, after: Any) -> bool:
    """Whether two topics differ in the order of their partitions only."""
    for declared in type(after).__kwire_fields__:
        old, new = getattr(before, declared.name), getattr(after, declared.name)
        if old is new or old == new:
            continue
        if not (isinstance(new, tuple) and new and isinstance(new[0], Struct) and len(old) == len(new)):
            return False
        if by_key(old) != by_key(new):
            return False
    return bool(before.unknown_tags == after.unknown_tags)


def metadata_events(
    changes: Changes, before: Message | None, after: Message, *, kraft: bool
) -> tuple[MetadataEvent, ...]:
    """What ``changes`` mean; nothing for a first answer.

    For MetadataResponse, TopicMetadataResponse_V1, ClusterMetadataResponse and DescribeConfigsResponse; of other
    messages nothing is known. ``kraft``: whether the controller id means nothing.
    """
    if changes.first or before is None or not changes.fields:
        return ()
    found: list[MetadataEvent] = []
    name = type(after).__name__
    if name in {"MetadataResponse", "TopicMetadataResponse_V1", "ClusterMetadataResponse"}:
        found += _broker_differences(changes)
        found += _controller_differences(changes, before, after, kraft=kraft)
        found += _topic_differences(changes)
    elif name == "DescribeConfigsResponse":
        found += _resource_differences(changes)
    return tuple(found)


def _sides(changes: Changes, name: str) -> tuple[dict[object, Any], dict[object, Any]]:
    """The elements of an array that are not the same in both answers: before, and after."""
    array = changes.arrays.get(name)
    if array is None:
        return {}, {}
    return (
        by_key([*array.removed, *(before for before, _ in array.changed)]),
        by_key([*array.added, *(after for _, after in array.changed)]),
    )


def _broker_differences(changes: Changes) -> Iterator[MetadataEvent]:
    before, after = _sides(changes, "brokers")
    for key, broker in after.items():
        place = (broker.host, broker.port, getattr(broker, "rack", None))
        if key not in before:
            yield BrokerJoined(broker.node_id, *place)
        else:
            old = before[key]
            old_place = (old.host, old.port, getattr(old, "rack", None))
            if place != old_place:
                yield BrokerChanged(broker.node_id, old_place, place)
    for key, broker in before.items():
        if key not in after:
            yield BrokerLeft(broker.node_id)


def _controller_differences(changes: Changes, before: Any, after: Any, *, kraft: bool) -> Iterator[MetadataEvent]:
    if "controller_id" in changes.fields and not kraft:
        yield ControllerMoved(before.controller_id, after.controller_id)
    if "controller" in changes.fields:
        old, new = (NO_LEADER if each is None else each.node_id for each in (before.controller, after.controller))
        if old != new:
            yield ControllerMoved(old, new)


class _Topic(NamedTuple):
    """A topic in either dialect's words."""

    name: str
    topic_id: UUID | None
    error_code: int
    partitions: tuple[Any, ...]
    configs: tuple[Any, ...]


class _Partition(NamedTuple):
    """A partition in either dialect's words; sets ascending."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]


def _topic(topic: Any) -> _Topic:
    if hasattr(topic, "topic_name"):
        return _Topic(topic.topic_name, None, topic.topic_error_code, topic.partitions, topic.config_entries)
    topic_id = topic.topic_id if topic.topic_id.int else None
    return _Topic(topic.name or str(topic.topic_id), topic_id, topic.error_code, topic.partitions, ())


def _partition(partition: Any) -> _Partition:
    if hasattr(partition, "partition_id"):
        replicas = tuple(each.replica_id for each in partition.replicas_lag)
        return _Partition(partition.leader, NO_EPOCH, replicas, _set(partition.isr), ())
    return _Partition(
        partition.leader_id,
        partition.leader_epoch,
        partition.replica_nodes,
        _set(partition.isr_nodes),
        _set(partition.offline_replicas),
    )


def _set(replicas: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(replicas)))


def _topic_differences(changes: Changes) -> Iterator[MetadataEvent]:
    before, after = _sides(changes, "topics")
    for key, element in after.items():
        topic = _topic(element)
        if key not in before:
            yield TopicAdded(topic.name, topic.topic_id, len(topic.partitions))
            continue
        old = _topic(before[key])
        if topic.topic_id and old.topic_id and topic.topic_id != old.topic_id:
            yield TopicRecreated(topic.name, old.topic_id, topic.topic_id, len(topic.partitions))
            continue
        if old.partitions is not topic.partitions:
            yield from _partition_differences(old, topic)
        if old.configs != topic.configs:
            yield from _setting_differences(
                "topic",
                topic.name,
                {entry.config_key: (entry.config_value, None) for entry in old.configs},
                {entry.config_key: (entry.config_value, None) for entry in topic.configs},
            )
    for key, element in before.items():
        if key not in after:
            topic = _topic(element)
            yield TopicRemoved(topic.name, topic.topic_id)


def _partition_differences(before: _Topic, after: _Topic) -> Iterator[MetadataEvent]:
    old = {_index(each): each for each in before.partitions}
    new = {_index(each): each for each in after.partitions}
    added = tuple(sorted(new.keys() - old.keys()))
    missing = tuple(sorted(old.keys() - new.keys()))
    if added:
        yield PartitionsAdded(after.name, added)
    if missing:
        yield PartitionsMissing(after.name, missing, after.error_code)
    for index, partition in new.items():
        known = old.get(index)
        if known is not None and known is not partition and known != partition:
            yield from _one_partition(after.name, index, _partition(known), _partition(partition))


def _index(partition: Any) -> int:
    index: int = partition.partition_id if hasattr(partition, "partition_id") else partition.partition_index
    return index


def _one_partition(topic: str, index: int, before: _Partition, after: _Partition) -> Iterator[MetadataEvent]:
    known_epochs = NO_EPOCH not in {before.epoch, after.epoch}
    if before.leader != after.leader:
        if after.leader == NO_LEADER:
            electing = known_epochs and before.epoch == after.epoch
            yield LeaderLost(topic, index, before.leader, after.epoch, electing)
        else:
            yield LeaderMoved(topic, index, before.leader, after.leader, before.epoch, after.epoch)
    elif known_epochs and before.epoch != after.epoch and after.leader != NO_LEADER:
        yield LeaderReelected(topic, index, after.leader, before.epoch, after.epoch)
    gone = tuple(replica for replica in before.isr if replica not in after.isr)
    back = tuple(replica for replica in after.isr if replica not in before.isr)
    if gone:
        yield IsrShrank(topic, index, before.isr, after.isr, gone)
    if back:
        yield IsrExpanded(topic, index, before.isr, after.isr, back)
    if before.replicas != after.replicas:
        yield ReplicasChanged(topic, index, before.replicas, after.replicas)
    if before.offline != after.offline:
        yield OfflineReplicasChanged(topic, index, before.offline, after.offline)


def _resource_differences(changes: Changes) -> Iterator[MetadataEvent]:
    """Of resources that both answers tell about without an error: a topic that was just made has changed nothing."""
    before, after = _sides(changes, "results")
    for key, resource in after.items():
        known = before.get(key)
        if known is not None and not known.error_code and not resource.error_code:
            kind = RESOURCES.get(resource.resource_type, str(resource.resource_type))
            yield from _setting_differences(kind, resource.resource_name, _settings(known), _settings(resource))


def _settings(resource: Any) -> dict[str, tuple[str | None, int | None]]:
    return {entry.name: (entry.value, entry.config_source) for entry in resource.configs}


def _setting_differences(
    kind: str,
    resource: str,
    before: Mapping[str, tuple[str | None, int | None]],
    after: Mapping[str, tuple[str | None, int | None]],
) -> Iterator[MetadataEvent]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, (None, None)), after.get(key, (None, None))
        if old != new:
            yield ConfigChanged(kind, resource, key, old[0], new[0], old[1], new[1])
