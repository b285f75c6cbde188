"""The state of a cluster as one broker has reported it, and the rows of silver for its changes.

Rows have the columns of `SILVER_SCHEMAS`. A row with change 'gone' is one broker's report; gold compares brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.metadata.diff import keyed_changes, partition_changes, topic_changes
from kwire.metadata.event_rules import is_recreated
from kwire.metadata.fields import (
    RESOURCE_TYPES,
    ConfigFields,
    broker_fields,
    config_fields,
    partitions_by_index,
    topic_config_fields,
    topic_fields,
    topic_name,
)
from kwire.uuids import uuid_to_text
from kwire_pipeline.silver.input_states import GroupOffsetsState, LogDirsState, add_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from kwire.capture.rows import RequestKey
    from kwire.declare import Message
    from kwire.metadata.fields import TopicFields

TOPIC, BROKER = 2, 4
_MINUTE = 60_000_000

SilverRow = tuple[Any, ...]


class BrokerState:
    """The reports of one broker.

    Every `apply_...` method takes the content of a response and the time of the poll in microseconds since 1970,
    appends rows for the changes, and keeps the new state.

    Args:
        reporter: the reporting broker (`reporter_of`).
        rows: the list of rows of each table.
    """

    def __init__(self, reporter: tuple[str, int, str, str | None], rows: dict[str, list[SilverRow]]) -> None:
        self.reporter = reporter
        self.cluster_id, self.broker_id, _, self.poller_id = reporter
        self.rows = rows
        self.configs: dict[tuple[str, str], Mapping[str, ConfigFields]] = {}
        """Configs by resource type and name."""
        self.requested_resources: dict[RequestKey, set[tuple[str, str]]] = {}
        """The resources in the last response to each DescribeConfigs request."""
        self._brokers: dict[int, Any] = {}
        self._registrations: dict[int, Any] = {}
        self._topics: Mapping[str, Any] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._features: dict[str, tuple[int, int]] = {}
        self._lags: dict[tuple[str, int, int], list[int]] = {}
        self._inputs = (GroupOffsetsState(self._add), LogDirsState(self._add))

    def apply_input(self, at: int, message: Message) -> None:
        """Apply a response about something else than metadata (`input_states`); other responses have no effect."""
        for state in self._inputs:
            if message.api_key in state.api_keys:
                state.apply(at, message)

    def _add(self, table: str, at: int, *values: Any) -> None:
        self.rows[table].append((self.cluster_id, at, self.broker_id, *values, self.poller_id))

    # Metadata, and TopicMetadata of KIP-4

    def apply_brokers(self, at: int, brokers: Iterable[Any]) -> None:
        """Apply the brokers of a Metadata response, which lists all live brokers."""
        reported = {broker.node_id: broker_fields(broker) for broker in brokers}
        add_changes(self._add, "brokers", at, self._brokers, reported)
        self._brokers = reported

    def apply_registrations(self, at: int, nodes: Iterable[Any]) -> None:
        """Apply the brokers of a DescribeCluster response, which lists all of them."""
        reported = {node.broker_id: (node.host, node.port, node.rack, node.is_fenced) for node in nodes}
        add_changes(self._add, "registrations", at, self._registrations, reported)
        self._registrations = reported

    def apply_topics(self, at: int, topics: Iterable[Any], *, complete: bool) -> int:
        """Apply the topics of a response and return how many of them changed.

        Args:
            complete: True if the request was for all topics.
        """
        self._topics, changes = topic_changes(self._topics, topics, complete=complete)
        changed = 0
        for before, after in changes:
            if after is None:
                self._remove_topic(at, before)
                changed += 1
            else:
                changed += self._apply_topic(at, before, after)
        return changed

    def _apply_topic(self, at: int, before: Any, after: Any) -> bool:
        """Add rows for a topic, and return whether there were any besides rows for its configs and lag."""
        name = topic_name(after) or ""
        known_id = self._topic_ids.get(name)
        reported = topic_fields(after)
        recreated = before is not None and is_recreated(known_id, reported.topic_id)
        topic_id = reported.topic_id or known_id
        if topic_id is not None:
            self._topic_ids[name] = topic_id
        previous = None if before is None else _topic_columns(topic_fields(before), known_id)
        fields = _topic_columns(reported, topic_id)
        if recreated:
            self._remove_resource(at, ("topic", name))
            for state in self._inputs:
                state.remove_topic(at, name)
        changed = previous != fields
        if changed:
            self._add("topics", at, name, "set", *fields)
        for index, old, new in partition_changes(before, after, recreated=recreated):
            if new is None:
                topic_id = previous[0] if previous is not None else None
                self._add("partitions", at, name, topic_id, index, "gone", *(old or ()))
            elif old != new:
                self._add("partitions", at, name, fields[0], index, "set", *new)
            else:
                continue
            changed = True
        configs = topic_config_fields(after)
        if configs is not None:
            self.apply_configs(at, ("topic", name), configs)
            self._apply_lags(at, name, before, after)
        return changed

    def _remove_topic(self, at: int, topic: Any) -> None:
        name = topic_name(topic) or ""
        fields = _topic_columns(topic_fields(topic), self._topic_ids.pop(name, None))
        self._add("topics", at, name, "gone", *fields)
        for index, _, partition in partition_changes(None, topic):
            self._add("partitions", at, name, fields[0], index, "gone", *(partition or ()))
        self._remove_resource(at, ("topic", name))
        for state in self._inputs:
            state.remove_topic(at, name)

    def _apply_lags(self, at: int, name: str, before: Any, after: Any) -> None:
        previous = {} if before is None else partitions_by_index(before)
        for index, partition in partitions_by_index(after).items():
            if previous.get(index) is not partition:
                for replica in partition.replicas_lag:
                    self.apply_lag(at, name, index, replica.replica_id, replica.lag)

    # DescribeConfigs

    def apply_resources(self, at: int, request: RequestKey, results: Iterable[Any]) -> None:
        """Apply a DescribeConfigs response.

        Resources with an error keep their configs. Resources that the last response to the same request had and this
        one does not have lose them.
        """
        reported = set()
        for result in results:
            resource = resource_of(result)
            reported.add(resource)
            if result.error_code == 0:
                self.apply_configs(at, resource, config_fields(result))
        for resource in self.requested_resources.get(request, set()) - reported:
            self._remove_resource(at, resource)
        self.requested_resources[request] = reported

    def apply_configs(self, at: int, resource: tuple[str, str], configs: Mapping[str, ConfigFields]) -> None:
        """Apply all configs of a resource."""
        add_changes(self._add, "configs", at, self.configs.get(resource, {}), configs, *resource)
        self.configs[resource] = configs

    def _remove_resource(self, at: int, resource: tuple[str, str]) -> None:
        add_changes(self._add, "configs", at, self.configs.pop(resource, {}), {}, *resource)

    # ApiVersions

    def apply_features(self, at: int, epoch: int, finalized: Iterable[Any]) -> None:
        """Apply the finalized features of an ApiVersions response, which has all of them."""
        reported = {feature.name: (feature.min_version_level, feature.max_version_level) for feature in finalized}
        for name, old, new in keyed_changes(self._features, reported):
            if new is not None:
                self._add("features", at, name, "set", *new, epoch)
            elif old is not None:
                self._add("features", at, name, "gone", *old, epoch)
        self._features = reported

    # Lag

    def apply_lag(self, at: int, topic: str, partition: int, replica: int, lag: int) -> None:
        """Apply a sample of a replica's lag.

        The row of a minute is added with the first sample of a later minute, or by `add_current_minutes`.
        """
        if lag < 0:  # unknown
            return
        key = topic, partition, replica
        minute = at - at % _MINUTE
        previous = self._lags.get(key)
        if previous is None:
            self._lags[key] = [minute, at, lag, lag, lag, 1]
        elif previous[0] == minute:
            changed = int(previous[5] or lag != previous[4])
            self._lags[key] = [minute, previous[1], min(previous[2], lag), max(previous[3], lag), lag, changed]
        else:
            self._add_minute(key, previous)
            self._lags[key] = [minute, at, lag, lag, lag, int(lag != previous[4])]

    def add_current_minutes(self) -> None:
        """Add rows for the lag of the current minutes."""
        for key, previous in self._lags.items():
            self._add_minute(key, previous)
            previous[5] = 0

    def drop_samples(self) -> None:
        """Add no rows for the samples so far."""
        for previous in self._lags.values():
            previous[5] = 0

    def _add_minute(self, key: tuple[str, int, int], previous: list[int]) -> None:
        minute, at, least, most, last, changed = previous
        if changed:
            self._add("lag", at, *key, minute, least, most, last)


def resource_of(result: Any) -> tuple[str, str]:
    """Return the resource type of silver and the name of a DescribeConfigs result."""
    resource_type, name = result.resource_type, result.resource_name
    if resource_type == BROKER and not name:
        return "cluster", ""
    return RESOURCE_TYPES.get(resource_type, str(resource_type)), name


def resource_type_code(name: str) -> int:
    """Return Kafka's code of a resource type of silver."""
    return {"topic": TOPIC, "broker": BROKER, "cluster": BROKER}.get(name) or int(name)


def _topic_columns(topic: TopicFields, topic_id: UUID | None) -> SilverRow:
    """Return the columns of a topic with the id that is known: old versions of Metadata do not report it."""
    return None if topic_id is None else uuid_to_text(topic_id), *topic[1:]
