"""Derive metadata events from rows of silver.

The rows of one broker and one poll (`at`) are applied to the state of that broker:

| rows | event |
|---|---|
| `brokers` set, unknown before | BrokerJoined |
| `brokers` set, known before | BrokerChanged |
| `brokers` gone | BrokerLeft |
| `topics` set, unknown before | TopicAdded |
| `topics` set with another topic id | TopicRecreated; its partitions have no events |
| `topics` gone | TopicRemoved; its partitions have no events |
| `partitions` set, unknown before; gone; set, known before | the rules of `partition_events` |
| `configs` of a resource that had some before | ConfigChanged |
| all `configs` of a resource gone | none: the resource is no longer reported |
| `configs` of a resource that had none before | none: silver does not have that it was reported |

The rows of the first plausible Metadata response of a broker are its initial state and have no events.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from kwire.metadata.event_rules import config_events, is_recreated, partition_events
from kwire.metadata.events import (
    BrokerChanged,
    BrokerJoined,
    BrokerLeft,
    MetadataEvent,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)
from kwire.metadata.fields import BrokerFields, ConfigFields, PartitionFields
from kwire_pipeline.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class TimedEvent(NamedTuple):
    """An event, the broker that reported it, and when, in microseconds since 1970."""

    at: int
    broker_id: int
    event: MetadataEvent


SilverRows = dict[str, list[dict[str, Any]]]


def silver_events(silver: Mapping[str, Sequence[tuple[Any, ...]]]) -> Iterator[TimedEvent]:
    """Yield the events of rows of silver, which are in order of time for each broker."""
    polls: dict[tuple[int, int], SilverRows] = defaultdict(lambda: defaultdict(list))
    for table in ("brokers", "topics", "partitions", "configs"):
        names = [column.name for column in SILVER_SCHEMAS[table].columns]
        for values in silver[table]:
            row = dict(zip(names, values, strict=True))
            polls[row["at"], row["broker_id"]][table].append(row)
    first = _first_plausible(silver["polls"])
    states: dict[int, _State] = defaultdict(_State)
    for (at, broker_id), rows in sorted(polls.items(), key=lambda poll: poll[0]):
        for event in list(states[broker_id].events(rows)):
            if at != first.get(broker_id):
                yield TimedEvent(at, broker_id, event)


def _first_plausible(rows: Sequence[tuple[Any, ...]]) -> dict[int, int]:
    """Return when each broker's first plausible Metadata response was."""
    names = [column.name for column in SILVER_SCHEMAS["polls"].columns]
    first: dict[int, int] = {}
    for values in rows:
        row = dict(zip(names, values, strict=True))
        if row["api_key"] == 3 and row["kind"] != "error" and not row["suspect"]:
            first.setdefault(row["broker_id"], row["polled_at"])
    return first


class _State:
    """The reports of one broker."""

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerFields] = {}
        self.topics: dict[str, UUID | None] = {}
        self.partitions: dict[str, dict[int, PartitionFields]] = defaultdict(dict)
        self.configs: dict[tuple[str, str], dict[str, ConfigFields]] = {}

    def events(self, rows: SilverRows) -> Iterator[MetadataEvent]:
        for row in rows["brokers"]:
            yield from self._broker(row)
        replaced: set[str] = set()
        errors: dict[str, int] = {}
        for row in rows["topics"]:
            errors[row["topic"]] = row["error_code"]
            for event in self._topic(row):
                yield event
                replaced.add(row["topic"])
        yield from self._partitions(rows["partitions"], replaced, errors)
        yield from self._configs(rows["configs"])

    def _broker(self, row: dict[str, Any]) -> Iterator[MetadataEvent]:
        broker_id = row["node_id"]
        before = self.brokers.pop(broker_id, None)
        if row["change"] == "gone":
            yield BrokerLeft(broker_id)
            return
        after = self.brokers[broker_id] = BrokerFields(row["host"], row["port"], row["rack"])
        if before is None:
            yield BrokerJoined(broker_id, *after)
        else:
            yield BrokerChanged(broker_id, (*before,), (*after,))

    def _topic(self, row: dict[str, Any]) -> Iterator[MetadataEvent]:
        name, topic_id = row["topic"], _uuid(row["topic_id"])
        if row["change"] == "gone":
            del self.topics[name]
            yield TopicRemoved(name, topic_id)
        elif name not in self.topics:
            self.topics[name] = topic_id
            yield TopicAdded(name, topic_id, row["partitions"])
        else:
            before, self.topics[name] = self.topics[name], topic_id
            if before is not None and topic_id is not None and is_recreated(before, topic_id):
                yield TopicRecreated(name, before, topic_id, row["partitions"])

    def _partitions(
        self, rows: list[dict[str, Any]], replaced: set[str], errors: dict[str, int]
    ) -> Iterator[MetadataEvent]:
        changes: dict[str, list[tuple[int, PartitionFields | None, PartitionFields | None]]] = defaultdict(list)
        for row in rows:
            name, index = row["topic"], row["partition"]
            before = self.partitions[name].pop(index, None)
            after = None
            if row["change"] == "set":
                after = self.partitions[name][index] = PartitionFields(
                    row["error_code"], row["leader"], row["leader_epoch"], row["replicas"], row["isr"], row["offline"]
                )
            changes[name].append((index, before, after))
        for name, change in changes.items():
            if name not in replaced:
                yield from partition_events(name, errors.get(name, 0), change)

    def _configs(self, rows: list[dict[str, Any]]) -> Iterator[MetadataEvent]:
        changed: dict[tuple[str, str], dict[str, ConfigFields | None]] = defaultdict(dict)
        for row in rows:
            config = ConfigFields(row["value"], row["source"]) if row["change"] == "set" else None
            changed[row["resource_type"], row["resource"]][row["key"]] = config
        for resource, configs in changed.items():
            before = self.configs.pop(resource, None)
            after = {key: config for key, config in {**(before or {}), **configs}.items() if config is not None}
            if not after:
                continue
            self.configs[resource] = after
            if before is not None:
                resource_type = "broker" if resource[0] == "cluster" else resource[0]
                yield from config_events(resource_type, resource[1], before, after)


def _uuid(topic_id: str | None) -> UUID | None:
    return None if topic_id is None else UUID(bytes=urlsafe_b64decode(f"{topic_id}=="))
