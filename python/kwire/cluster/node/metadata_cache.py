"""What this node has been told about the cluster, with the answers to TopicMetadata kept ready as bytes.

Rules of this file.

* The controller tells (``UpdateMetadata``), and an older controller is not believed: error 11. That a later one was
  elected is for the node to find out. Configs are the one thing it does not tell; the node reads those from ZooKeeper
  and puts them in with ``configure``.
* What no answer could carry is left out when it comes, and logged: one such broker, topic or setting would end every
  answer that it is part of.
* Nothing here asks anybody, and nothing waits: a question is answered from what is known now.
* A topic's part of an answer is encoded once, when somebody first asks after a change, by the codec. An answer about
  everything is those parts in a row; it is put together once, and again only when something in it changed.
"""

from __future__ import annotations

from struct import pack
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.topic_names import MAX_NAME_LENGTH, is_possible_topic_name
from kwire.cluster.node.logs import logger
from kwire.cluster.zookeeper.brokers import LONGEST_HOST
from kwire.codec import encode
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import can_be_a_setting, can_be_a_string
from kwire.messages.kip4.structures import Broker, ConfigEntry
from kwire.messages.kip4.topic_metadata import PartitionMetadata, TopicMetadata, TopicMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as PartitionMetadata_V1
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as TopicMetadata_V1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from uuid import UUID

    from kwire.messages.kafka.update_metadata import UpdateMetadataPartitionState, UpdateMetadataRequest

LEADER_NOT_AVAILABLE = 5
"""Kafka's code for a partition without a leader; the drafts carry it without naming it."""

BEING_DELETED = -2
"""What UpdateMetadata says for the leader of a partition whose topic is being deleted."""
EVERYTHING = 2
"""The type of an UpdateMetadata after which a topic that it does not name is gone."""

EMPTY_ARRAY = pack(">i", 0)
NO_CODES: Mapping[str, int] = MappingProxyType({})

log = logger(__name__)


class KnownTopic(NamedTuple):
    """One topic: its id, and what the controller last said of each of its partitions."""

    topic_id: UUID
    partitions: dict[int, UpdateMetadataPartitionState]


class MetadataCache:
    """The cluster as this node knows it."""

    def __init__(self) -> None:
        self.controller_id = -1
        self.controller_epoch = 0
        self.brokers: dict[int, Broker] = {}
        self.topics: dict[str, KnownTopic] = {}
        self.configs: dict[str, tuple[ConfigEntry, ...]] = {}
        self.changes = 0
        """Counts what was taken in, so that somebody who waits for a change can tell that there was one."""
        self._ready = {0: Ready(self._encode), 1: Ready(self._encode_v1)}

    # What it is told

    def is_stale(self, request: UpdateMetadataRequest) -> bool:
        """Whether a later controller has spoken, or another one in the same epoch, which belongs to one alone."""
        if request.controller_epoch == self.controller_epoch:
            return request.controller_id != self.controller_id
        return request.controller_epoch < self.controller_epoch

    def new_topics(self, request: UpdateMetadataRequest) -> list[str]:
        """Those that an update would make known, or known as others than before."""
        return [
            topic.topic_name
            for topic in request.topic_states
            if is_possible_topic_name(topic.topic_name)
            and (topic.topic_name not in self.topics or self.topics[topic.topic_name].topic_id != topic.topic_id)
        ]

    def update(self, request: UpdateMetadataRequest) -> ErrorCode:
        """Take in what a controller says; STALE_CONTROLLER_EPOCH, and nothing taken, when it ``is_stale``.

        Left out are topics with names that no topic can have, and brokers without an address that can be told.
        """
        if self.is_stale(request):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = request.controller_epoch
        self.controller_id = request.controller_id
        self._take_brokers(request)
        told = set()
        for topic in request.topic_states:
            if not is_possible_topic_name(topic.topic_name):
                log.warning("left out: no topic can have this name", topic=topic.topic_name[:MAX_NAME_LENGTH])
                continue
            told.add(topic.topic_name)
            known = self.topics.get(topic.topic_name)
            if known is None or known.topic_id != topic.topic_id:
                known = KnownTopic(topic.topic_id, {})
            states = {each.partition_index: each for each in topic.partition_states}
            if any(state.leader == BEING_DELETED for state in states.values()):
                self._forget(topic.topic_name)
                continue
            # A new mapping: whoever looks at the old one sees all of it as it was.
            self.topics[topic.topic_name] = KnownTopic(topic.topic_id, known.partitions | states)
            self._changed(topic.topic_name)
        if request.type == EVERYTHING:
            for name in self.topics.keys() - told:
                self._forget(name)
        self.changes += 1
        return ErrorCode.NO_ERROR

    def configure(self, topic: str, configs: Mapping[str, str]) -> None:
        """The settings that a topic overrides, as its znode says; none for a topic without any.

        Left out are those that cannot be told: anybody may have written the znode.
        """
        told = {key: value for key, value in configs.items() if can_be_a_setting(key, value)}
        for key in configs.keys() - told:
            length = len(configs[key])
            log.error("left out: no string can hold this setting", topic=topic, key=ascii(key[:100]), characters=length)
        entries = tuple(ConfigEntry(config_key=key, config_value=value) for key, value in sorted(told.items()))
        if self.configs.get(topic, ()) == entries:
            return
        if entries:
            self.configs[topic] = entries
        else:
            self.configs.pop(topic, None)
        self._changed(topic)
        self.changes += 1

    def _take_brokers(self, request: UpdateMetadataRequest) -> None:
        brokers = {}
        for broker in request.live_brokers:
            if not broker.endpoints or not can_be_a_host(broker.endpoints[0].host):
                log.warning("left out: the broker has no address that can be told", broker_id=broker.id)
                continue
            endpoint = broker.endpoints[0]
            brokers[broker.id] = Broker(node_id=broker.id, host=endpoint.host, port=endpoint.port)
        if brokers != self.brokers:
            self.brokers = brokers
            for ready in self._ready.values():
                ready.brokers_changed()

    def _forget(self, topic: str) -> None:
        if self.topics.pop(topic, None) is not None:
            self.configs.pop(topic, None)
            self._changed(topic)

    def _changed(self, topic: str) -> None:
        for ready in self._ready.values():
            ready.topic_changed(topic)

    # What it answers

    def answer(self, version: int, names: Iterable[str], codes: Mapping[str, int] = NO_CODES) -> bytes:
        """The body of a TopicMetadata response, version 0 or 1: about ``names``, or about everything for none.

        ``codes``: what to say, by name, of topics that are not known; of others that they are unknown.
        """
        ready = self._ready[version]
        asked = tuple(dict.fromkeys(names))
        if not asked:
            return ready.everything(self.brokers, self.topics)
        return ready.some(self.brokers, asked, codes)

    def _encode(self, name: str, code_if_unknown: int) -> bytes:
        known = self.topics.get(name)
        code = ErrorCode.NO_ERROR if known else code_if_unknown
        partitions = tuple(
            PartitionMetadata(
                partition_error_code=LEADER_NOT_AVAILABLE if state.leader < 0 else 0,
                partition_id=partition,
                leader=state.leader,
                replicas=state.replicas,
                isr=state.isr,
            )
            for partition, state in sorted(known.partitions.items() if known else ())
        )
        topic = TopicMetadata(topic_error_code=code, topic_name=name, partitions=partitions)
        return encode(TopicMetadataResponse(brokers=(), topics=(topic,)), version=0)

    def _encode_v1(self, name: str, code_if_unknown: int) -> bytes:
        known = self.topics.get(name)
        code = ErrorCode.NO_ERROR if known else code_if_unknown
        partitions = tuple(
            PartitionMetadata_V1(
                partition_error_code=LEADER_NOT_AVAILABLE if state.leader < 0 else 0,
                partition_id=partition,
                leader=state.leader,
                replicas_lag=lags(state),
                isr=state.isr,
            )
            for partition, state in sorted(known.partitions.items() if known else ())
        )
        topic = TopicMetadata_V1(
            topic_error_code=code,
            topic_name=name,
            partitions=partitions,
            config_entries=self.configs.get(name, ()) if known else (),
        )
        return encode(TopicMetadataResponse_V1(brokers=(), topics=(topic,)), version=1)


def can_be_a_host(name: str) -> bool:
    """Whether an address can have this name, and a string of the protocol hold it."""
    return len(name) <= LONGEST_HOST and can_be_a_string(name)


def lags(state: UpdateMetadataPartitionState) -> tuple[ReplicaLag, ...]:
    """A node without a data plane knows of a replica in sync that it lags by nothing, and of others not how much."""
    return tuple(ReplicaLag(replica_id=each, lag=0 if each in state.isr else -1) for each in state.replicas)


class Ready:
    """The bytes of one version's answers. Both versions are ``[Broker] [Topic]``, so parts can be put in a row.

    ``encode_one`` gives the answer about one topic, or its code if it is not known, with no brokers: two counts, then
    the part that is wanted.
    """

    def __init__(self, encode_one: Callable[[str, int], bytes]) -> None:
        self._encode_one = encode_one
        self._parts: dict[str, bytes] = {}
        self._everything: bytes | None = None
        self._brokers: bytes | None = None

    def topic_changed(self, name: str) -> None:
        self._parts.pop(name, None)
        self._everything = None

    def brokers_changed(self) -> None:
        self._brokers = None
        self._everything = None

    def everything(self, brokers: Mapping[int, Broker], names: Iterable[str]) -> bytes:
        if self._everything is None:
            parts = self._parts
            for name in names:
                if name not in parts:
                    parts[name] = self._part(name)
            self._everything = self._joined(brokers, [parts[name] for name in names])
        return self._everything

    def some(self, brokers: Mapping[int, Broker], names: Iterable[str], codes: Mapping[str, int]) -> bytes:
        # What is not there is not kept: a client may ask for any number of names.
        return self._joined(brokers, [self._parts.get(name) or self._part(name, codes) for name in names])

    def _part(self, name: str, codes: Mapping[str, int] = NO_CODES) -> bytes:
        return self._encode_one(name, codes.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))[8:]

    def _joined(self, brokers: Mapping[int, Broker], parts: list[bytes]) -> bytes:
        if self._brokers is None:
            listed = tuple(brokers.values())
            self._brokers = encode(TopicMetadataResponse(brokers=listed, topics=()), version=0)[: -len(EMPTY_ARRAY)]
        return b"".join([self._brokers, pack(">i", len(parts)), *parts])
