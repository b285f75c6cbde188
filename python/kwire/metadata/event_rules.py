"""Rules that turn changes between two responses into metadata events.

Every function takes changes as pairs (before, after) of `kwire.metadata.diff`.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.metadata.diff import array_changes, keyed_changes, partition_changes
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
    OfflineReplicasChanged,
    PartitionsAdded,
    PartitionsMissing,
    ReplicasChanged,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)
from kwire.metadata.fields import (
    NO_EPOCH,
    NO_LEADER,
    RESOURCE_TYPES,
    broker_fields,
    config_fields,
    topic_config_fields,
    topic_fields,
    topic_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from uuid import UUID

    from kwire.declare import Message
    from kwire.decoder import Changes
    from kwire.metadata.diff import Change
    from kwire.metadata.events import MetadataEvent
    from kwire.metadata.fields import ConfigFields, PartitionFields

__all__ = ["config_events", "is_recreated", "metadata_events", "partition_events", "topic_events"]

_METADATA = {
    "MetadataResponse",
    "TopicMetadataResponse",
    "TopicMetadataResponse_V1",
    "ClusterMetadataResponse",
}


def metadata_events(
    changes: Changes,
    before: Message | None,
    after: Message,
    *,
    kraft: bool,
    topics: Iterable[Change[Any]] | None = None,
) -> tuple[MetadataEvent, ...]:
    """Return the events of a response; none for a first response.

    Responses to Metadata, TopicMetadata, ClusterMetadata, and DescribeConfigs have events.

    Args:
        changes: the differences between `before` and `after`.
        kraft: True if the controller id has no meaning.
        topics: the changed topics, if `changes` has others.
    """
    if changes.first or before is None:
        return ()
    events: list[MetadataEvent] = []
    name = type(after).__name__
    if name in _METADATA:
        events += _broker_events(array_changes(changes, "brokers"))
        events += _controller_events(changes, before, after, kraft=kraft)
        events += topic_events(array_changes(changes, "topics") if topics is None else topics)
    elif name == "DescribeConfigsResponse":
        events += _resource_events(array_changes(changes, "results"))
    return tuple(events)


def is_recreated(before: UUID | None, after: UUID | None) -> bool:
    """Return whether two topic ids of one name are of different topics. Without an id this is not known."""
    return before is not None and after is not None and before != after


def _broker_events(changes: Iterable[tuple[Any, Any]]) -> Iterator[MetadataEvent]:
    for before, after in changes:
        old = None if before is None else broker_fields(before)
        new = None if after is None else broker_fields(after)
        if old is None and new is not None:
            yield BrokerJoined(after.node_id, *new)
        elif new is None:
            yield BrokerLeft(before.node_id)
        elif old is not None and old != new:
            yield BrokerChanged(after.node_id, (*old,), (*new,))


def _controller_events(changes: Changes, before: Any, after: Any, *, kraft: bool) -> Iterator[MetadataEvent]:
    if "controller_id" in changes.fields and not kraft:
        yield ControllerMoved(before.controller_id, after.controller_id)
    if "controller" in changes.fields:
        old, new = (
            NO_LEADER if controller is None else controller.node_id
            for controller in (before.controller, after.controller)
        )
        if old != new:
            yield ControllerMoved(old, new)


def topic_events(changes: Iterable[Change[Any]]) -> Iterator[MetadataEvent]:
    """Yield the events of changed topics, with their partitions and configs."""
    for before, after in changes:
        if after is None:
            if before is not None and (name := _name(before)):
                yield TopicRemoved(name, topic_fields(before).topic_id)
            continue
        name = _name(after)
        fields = topic_fields(after)
        if before is None:
            yield TopicAdded(name, fields.topic_id, fields.partitions)
            continue
        old_id = topic_fields(before).topic_id
        if old_id is not None and fields.topic_id is not None and is_recreated(old_id, fields.topic_id):
            yield TopicRecreated(name, old_id, fields.topic_id, fields.partitions)
            continue
        if before.partitions is not after.partitions:
            yield from partition_events(name, fields.error_code, partition_changes(before, after))
        configs = topic_config_fields(after)
        if configs is not None:
            yield from config_events("topic", name, topic_config_fields(before) or {}, configs)


def _name(topic: Any) -> str:
    name = topic_name(topic)
    return str(topic.topic_id) if name is None else name


def partition_events(
    topic: str, error_code: int, changes: Iterable[tuple[int, PartitionFields | None, PartitionFields | None]]
) -> Iterator[MetadataEvent]:
    """Yield the events of changed partitions of a topic with an error code."""
    added: list[int] = []
    missing: list[int] = []
    events: list[MetadataEvent] = []
    for index, before, after in changes:
        if before is None:
            added.append(index)
        elif after is None:
            missing.append(index)
        else:
            events += _one_partition(topic, index, before, after)
    if added:
        yield PartitionsAdded(topic, tuple(sorted(added)))
    if missing:
        yield PartitionsMissing(topic, tuple(sorted(missing)), error_code)
    yield from events


def _one_partition(topic: str, index: int, before: PartitionFields, after: PartitionFields) -> Iterator[MetadataEvent]:
    known_epochs = NO_EPOCH not in {before.leader_epoch, after.leader_epoch}
    if before.leader != after.leader:
        if after.leader == NO_LEADER:
            electing = known_epochs and before.leader_epoch == after.leader_epoch
            yield LeaderLost(topic, index, before.leader, after.leader_epoch, electing)
        else:
            yield LeaderMoved(topic, index, before.leader, after.leader, before.leader_epoch, after.leader_epoch)
    elif known_epochs and before.leader_epoch != after.leader_epoch and after.leader != NO_LEADER:
        yield LeaderReelected(topic, index, after.leader, before.leader_epoch, after.leader_epoch)
    old_isr, isr = _ascending(before.isr), _ascending(after.isr)
    removed = tuple(replica for replica in old_isr if replica not in isr)
    added = tuple(replica for replica in isr if replica not in old_isr)
    if removed:
        yield IsrShrank(topic, index, old_isr, isr, removed)
    if added:
        yield IsrExpanded(topic, index, old_isr, isr, added)
    if before.replicas != after.replicas:
        yield ReplicasChanged(topic, index, before.replicas, after.replicas)
    old_offline, offline = _ascending(before.offline), _ascending(after.offline)
    if old_offline != offline:
        yield OfflineReplicasChanged(topic, index, old_offline, offline)


def _ascending(replicas: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(replicas)))


def _resource_events(changes: Iterable[Change[Any]]) -> Iterator[MetadataEvent]:
    """Yield the changed configs of resources that both responses report without an error."""
    for before, after in changes:
        if before is not None and after is not None and not before.error_code and not after.error_code:
            resource_type = RESOURCE_TYPES.get(after.resource_type, str(after.resource_type))
            yield from config_events(resource_type, after.resource_name, config_fields(before), config_fields(after))


def config_events(
    resource_type: str,
    resource: str,
    before: Mapping[str, ConfigFields],
    after: Mapping[str, ConfigFields],
) -> Iterator[ConfigChanged]:
    """Yield the changed configs of a resource, by key."""
    for key, old, new in sorted(keyed_changes(before, after), key=lambda change: change[0]):
        old_value, old_source = (None, None) if old is None else old
        new_value, new_source = (None, None) if new is None else new
        yield ConfigChanged(resource_type, resource, key, old_value, new_value, old_source, new_source)
