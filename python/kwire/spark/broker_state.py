"""What one broker has told so far, and what an answer changes in that.

Rules of this file: pure Python over decoded messages. Elements are compared by key, never by position; what is the same
object as before, or equal, is passed over, so cost follows what changed. Each method adds rows of silver, which are
`SILVER_SCHEMAS`, and keeps the new state. Absence is this broker's own word: gold asks the others.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from uuid import UUID

    from kwire.capture.rows import RequestKey

RESOURCE_TYPES = {2: "topic", 4: "broker"}
_OWN = 1  # the config source of a topic's own settings
_MINUTE = 60_000_000

Row = tuple[Any, ...]
State = tuple[int, int, int, Any, Any, Any]
"""error_code, leader, leader_epoch, replicas, isr, offline."""


class BrokerState:
    """``rows``: for each table the rows since they were taken last, each as long as its table has columns."""

    def __init__(self, teller: tuple[str, int, str], rows: dict[str, list[Row]]) -> None:
        self.teller = teller
        self.cluster_id, self.broker_id, _ = teller
        self.rows = rows
        self.brokers: dict[int, Any] = {}
        self.registrations: dict[int, Any] = {}
        self.topics: dict[str, Any] = {}
        self.configs: dict[tuple[str, str], dict[str, tuple[str | None, int]]] = {}
        self.asked_configs: dict[RequestKey, set[tuple[str, str]]] = {}
        self.features: dict[str, tuple[int, int]] = {}
        self.lags: dict[tuple[str, int, int], list[int]] = {}

    def _add(self, table: str, at: int, *values: Any) -> None:
        self.rows[table].append((self.cluster_id, at, self.broker_id, *values))

    # Metadata, and TopicMetadata_V1 of the kip4 dialect

    def tell_brokers(self, at: int, brokers: Iterable[Any]) -> None:
        """The brokers of a Metadata answer: all there are."""
        told = {broker.node_id: broker for broker in brokers}
        self._replace(at, "brokers", self.brokers, told, lambda broker: (broker.host, broker.port, _rack(broker)))
        self.brokers = told

    def tell_members(self, at: int, nodes: Iterable[Any]) -> None:
        """The brokers of a DescribeCluster answer: all there are."""
        told = {node.broker_id: node for node in nodes}
        fields = lambda node: (node.host, node.port, node.rack, node.is_fenced)  # noqa: E731 - a table's columns
        self._replace(at, "registrations", self.registrations, told, fields)
        self.registrations = told

    def _replace(
        self, at: int, table: str, before: dict[int, Any], told: dict[int, Any], fields: Callable[[Any], Row]
    ) -> None:
        for node_id, node in told.items():
            known = before.get(node_id)
            if known is not node and (known is None or fields(known) != fields(node)):
                self._add(table, at, node_id, "set", *fields(node))
        for node_id in before.keys() - told.keys():
            self._add(table, at, node_id, "gone", *fields(before[node_id]))

    def tell_topics(self, at: int, topics: Iterable[Any], *, all_of_them: bool) -> int:
        """The topics of an answer; how many of them differ. ``all_of_them``: what is not listed is gone.

        A question for certain topics is answered with error 3 for those that are not there.
        """
        before = self.topics
        told: dict[str, Any] = {}
        changed = 0
        for topic in topics:
            name = _name(topic)
            if name is None:  # asked for by an id that the broker does not know
                continue
            told[name] = topic
            known = before.get(name)
            if known is not topic and known != topic:
                changed += self._tell_topic(at, name, known, topic)
        if all_of_them:
            if len(before) != len(told) or before.keys() != told.keys():
                for name in before.keys() - told.keys():
                    self._topic_gone(at, name, before[name])
                    changed += 1
            self.topics = told
        else:
            self.topics = before | told
            for name in [name for name, topic in told.items() if _error(topic) == UNKNOWN_TOPIC]:
                del self.topics[name]
                if name in before:
                    self._topic_gone(at, name, before[name])
        return changed

    def _tell_topic(self, at: int, name: str, known: Any, topic: Any) -> bool:
        said = _topic_fields(topic)
        topic_id = said[0]
        differs = known is None
        anew = False
        if known is not None:
            had = _topic_fields(known)
            anew = had[0] != topic_id
            differs = had != said
        if anew:
            self._configs_gone(at, name)
        if differs:
            self._add("topics", at, name, "set", *said)
        before = _states(known) if known is not None else {}
        after = _states(topic)
        for index, partition in after.items():
            old = before.get(index)
            if old is partition and not anew:
                continue
            state = _state(partition)
            if old is None or anew or _state(old) != state:
                differs = True
                self._add("partitions", at, name, topic_id, index, "set", *state)
            self._lags_of(at, name, index, partition)
        for index in before.keys() - after.keys():
            differs = True
            self._add("partitions", at, name, _topic_fields(known)[0], index, "gone", *_state(before[index]))
        if hasattr(topic, "config_entries") and (known is None or known.config_entries != topic.config_entries):
            self.tell_resource(
                at, ("topic", name), {c.config_key: (c.config_value, _OWN) for c in topic.config_entries}
            )
        return differs

    def _topic_gone(self, at: int, name: str, known: Any) -> None:
        fields = _topic_fields(known)
        self._add("topics", at, name, "gone", *fields)
        for index, partition in _states(known).items():
            self._add("partitions", at, name, fields[0], index, "gone", *_state(partition))
        self._configs_gone(at, name)

    def _lags_of(self, at: int, name: str, index: int, partition: Any) -> None:
        for replica in getattr(partition, "replicas_lag", ()):
            self.tell_lag(at, name, index, replica.replica_id, replica.lag)

    # DescribeConfigs

    def tell_configs(self, at: int, question: RequestKey, results: Iterable[Any]) -> None:
        """The settings of some resources. What the same question had an answer to and has none now, is gone."""
        told = set()
        for result in results:
            resource = resource_of(result)
            told.add(resource)
            if result.error_code == 0:
                self.tell_resource(at, resource, settings_of(result))
        for resource in self.asked_configs.get(question, set()) - told:
            self._resource_gone(at, resource)
        self.asked_configs[question] = told

    def tell_resource(self, at: int, resource: tuple[str, str], told: dict[str, tuple[str | None, int]]) -> None:
        before = self.configs.get(resource, {})
        if before != told:
            for key, setting in told.items():
                if before.get(key) != setting:
                    self._add("configs", at, *resource, key, "set", *setting)
            for key in before.keys() - told.keys():
                self._add("configs", at, *resource, key, "gone", *before[key])
        self.configs[resource] = told

    def _resource_gone(self, at: int, resource: tuple[str, str]) -> None:
        for key, setting in self.configs.pop(resource, {}).items():
            self._add("configs", at, *resource, key, "gone", *setting)

    def _configs_gone(self, at: int, topic: str) -> None:
        """A topic's settings end with it: one made anew under its name has its own."""
        self._resource_gone(at, ("topic", topic))

    # ApiVersions

    def tell_features(self, at: int, epoch: int, finalized: Iterable[Any]) -> None:
        """The features in force, all of them."""
        told = {each.name: (each.min_version_level, each.max_version_level) for each in finalized}
        for name, levels in told.items():
            if self.features.get(name) != levels:
                self._add("features", at, name, "set", *levels, epoch)
        for name in self.features.keys() - told.keys():
            self._add("features", at, name, "gone", *self.features[name], epoch)
        self.features = told

    # Lag

    def tell_lag(self, at: int, topic: str, partition: int, replica: int, lag: int) -> None:
        """A sample; what a minute had in all is added when the next one begins, or by `end_minutes`."""
        if lag < 0:  # not known
            return
        key = topic, partition, replica
        minute = at - at % _MINUTE
        known = self.lags.get(key)
        if known is None:
            self.lags[key] = [minute, at, lag, lag, lag, 1]
        elif known[0] == minute:
            changed = int(known[5] or lag != known[4])
            self.lags[key] = [minute, known[1], min(known[2], lag), max(known[3], lag), lag, changed]
        else:
            self._end_minute(key, known)
            self.lags[key] = [minute, at, lag, lag, lag, int(lag != known[4])]

    def end_minutes(self) -> None:
        """Add what the minutes under way have so far."""
        for key, known in self.lags.items():
            self._end_minute(key, known)
            known[5] = 0

    def forget_samples(self) -> None:
        """What was told so far leaves no rows."""
        for known in self.lags.values():
            known[5] = 0

    def _end_minute(self, key: tuple[str, int, int], known: list[int]) -> None:
        minute, at, least, most, last, changed = known
        if changed:
            self._add("lag", at, *key, minute, least, most, last)


UNKNOWN_TOPIC = 3


def _rack(broker: Any) -> str | None:
    rack: str | None = getattr(broker, "rack", None)  # kip4's have none
    return rack


def resource_of(result: Any) -> tuple[str, str]:
    """Its kind as silver names it, and its name."""
    kind, name = result.resource_type, result.resource_name
    if kind == 4 and not name:
        return "cluster", ""
    return RESOURCE_TYPES.get(kind, str(kind)), name


def number_of(kind: str) -> int:
    """Kafka's number for a kind of resource."""
    return {"topic": 2, "broker": 4, "cluster": 4}.get(kind) or int(kind)


def settings_of(result: Any) -> dict[str, tuple[str | None, int]]:
    """Value and source of each setting; version 0 tells only whether anybody set it, which is source -1 then."""
    return {c.name: (c.value, 5 if c.is_default else c.config_source) for c in result.configs}


def id_text(topic_id: UUID) -> str | None:
    """As Kafka writes it; None for the zero id."""
    return urlsafe_b64encode(topic_id.bytes)[:22].decode() if topic_id.int else None


# The two dialects name the same things differently.


def _is_kip4(topic: Any) -> bool:
    return hasattr(topic, "topic_name")


def _name(topic: Any) -> str | None:
    name: str | None = topic.topic_name if _is_kip4(topic) else topic.name
    return name


def _error(topic: Any) -> int:
    error: int = topic.topic_error_code if _is_kip4(topic) else topic.error_code
    return error


def _topic_fields(topic: Any) -> Row:
    """topic_id, is_internal, partitions, replication_factor, error_code."""
    factor = max((len(_state(partition)[3]) for partition in topic.partitions), default=0)
    if _is_kip4(topic):
        return None, False, len(topic.partitions), factor, topic.topic_error_code
    return id_text(topic.topic_id), topic.is_internal, len(topic.partitions), factor, topic.error_code


def _states(topic: Any) -> dict[int, Any]:
    if _is_kip4(topic):
        return {partition.partition_id: partition for partition in topic.partitions}
    return {partition.partition_index: partition for partition in topic.partitions}


def _state(partition: Any) -> State:
    if hasattr(partition, "partition_error_code"):
        lags = getattr(partition, "replicas_lag", None)
        replicas = partition.replicas if lags is None else tuple(replica.replica_id for replica in lags)
        return partition.partition_error_code, partition.leader, -1, replicas, partition.isr, ()
    return (
        partition.error_code,
        partition.leader_id,
        partition.leader_epoch,
        partition.replica_nodes,
        partition.isr_nodes,
        partition.offline_replicas,
    )
