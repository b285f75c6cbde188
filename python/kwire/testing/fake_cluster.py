"""A fake Kafka cluster for tests: brokers that serve metadata of thousands of topics, change, and misbehave on demand.

The cluster runs in its own thread, so blocking and asyncio programs can use it. Every method may be called from any
thread, and the brokers report its effect in their next response. The state is one immutable value that is replaced
atomically. Brokers listen on free ports of 127.0.0.1 only.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from kwire.messages.kafka.metadata import MetadataResponseBroker
from kwire.testing.broker_thread import BrokerThread
from kwire.testing.cluster_state import NO_LEADER, ClusterState, assign_replicas, spread_topics
from kwire.testing.fake_broker import VERSIONS, FakeBroker, Misbehavior, PlannedMisbehavior, ReceivedRequest
from kwire.testing.fake_offsets import FakeGroup, FakeOffsets
from kwire.testing.response_cache import ResponseCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["FakeCluster"]

TOPIC, BROKER = 2, 4
KRAFT_FEATURES = (("metadata.version", 1, 30),)


class FakeCluster(BrokerThread):
    """A cluster of fake brokers on 127.0.0.1.

        with FakeCluster(brokers=3, topics=5_000, partitions=20) as cluster:
            ...                                     # connect any client to cluster.bootstrap
            cluster.move_leader("topic-00000", 0, 2)
            cluster.pause_broker(3)

    The brokers serve ApiVersions, Metadata, DescribeConfigs, DescribeCluster, DescribeLogDirs, DeleteTopics, and what
    clients ask about groups and offsets or change of them, of Kafka or, with `dialect="kip4"`, ApiVersions,
    TopicMetadata_V1, and ClusterMetadata of KIP-4. They keep no records, create no topics on request, and support
    neither TLS nor SASL.

    Args:
        brokers: the number of brokers, with ids from 1, or their ids.
        topics: the number of topics, named `topic-00000` and so on, or their names.
        partitions: the number of partitions of each topic.
        replication_factor: replicas of each partition; 3 by default, or the number of brokers if there are fewer.
        dialect: the protocol of the brokers.
        kraft: name a random live broker as the controller in every response, as KRaft brokers do.
        cluster_id: the cluster id.
        racks: racks by broker id.
        seed: the seed of topic ids and random choices.

    Raises:
        ValueError: the arguments do not describe a cluster.
    """

    def __init__(
        self,
        brokers: int | Sequence[int] = 3,
        *,
        topics: int | Iterable[str] = 0,
        partitions: int = 1,
        replication_factor: int | None = None,
        dialect: Literal["kafka", "kip4"] = "kafka",
        kraft: bool = False,
        cluster_id: str = "fake-cluster-000000000",
        racks: Mapping[int, str] | None = None,
        seed: int = 0,
    ) -> None:
        ids = tuple(range(1, brokers + 1)) if isinstance(brokers, int) else tuple(brokers)
        if not ids or len(set(ids)) < len(ids):
            raise ValueError(f"brokers={brokers!r}: expected at least one broker and no duplicate ids")
        if dialect not in VERSIONS:
            raise ValueError(f"dialect={dialect!r}: expected {' or '.join(VERSIONS)}")
        self.dialect = dialect
        self.replication_factor = min(3, len(ids)) if replication_factor is None else replication_factor
        self._random = Random(seed)
        self._kraft = kraft
        self._lock = threading.RLock()
        self._frozen_states: dict[int, ClusterState] = {}
        responses = ResponseCache()
        self._offsets = FakeOffsets(self.delete_topics)
        features = KRAFT_FEATURES if kraft and dialect == "kafka" else ()
        super().__init__(
            FakeBroker(broker_id, dialect, responses, self._state_of, self._controller_in, features, self._offsets)
            for broker_id in ids
        )
        racks = racks or {}
        self._addresses = {
            broker_id: MetadataResponseBroker(
                node_id=broker_id, host="127.0.0.1", port=broker.port, rack=racks.get(broker_id)
            )
            for broker_id, broker in self._brokers.items()
        }
        self._state = ClusterState(cluster_id, ids[0], tuple(self._addresses.values()))
        names = [f"topic-{n:05}" for n in range(topics)] if isinstance(topics, int) else list(topics)
        try:
            self.create_topics(names, partitions)
        except BaseException:
            self.close()  # releases the ports
            raise

    @property
    def state(self) -> ClusterState:
        """The current state. A broker with frozen metadata may report another one."""
        return self._state

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, for clients: `127.0.0.1:40001,127.0.0.1:40002`."""
        return ",".join(self.endpoint(broker_id) for broker_id in self._brokers)

    def endpoint(self, broker_id: int) -> str:
        """Return the address of a broker, `host:port`."""
        return f"127.0.0.1:{self._brokers[broker_id].port}"

    def broker(self, broker_id: int) -> FakeBroker:
        """Return a broker, for a network without sockets. Its methods belong to the thread of an event loop."""
        return self._brokers[broker_id]

    def requests(self, broker_id: int | None = None) -> list[ReceivedRequest]:
        """Return the last 10,000 requests that a broker has received, oldest first.

        Args:
            broker_id: the broker; by default, the requests of all brokers are returned, one broker after the other.
        """
        brokers = self._brokers.values() if broker_id is None else (self._brokers[broker_id],)
        return self._call(lambda: [request for broker in brokers for request in broker.received])

    @property
    def request_count(self) -> int:
        """Number of requests that all brokers have received so far."""
        return sum(broker.received_count for broker in self._brokers.values())

    def connection_count(self, broker_id: int) -> int:
        """Return the number of open connections to a broker."""
        return self._call(lambda: len(self._brokers[broker_id].connections))

    # Topics.

    def create_topics(self, names: Iterable[str], partitions: int = 1, *, internal: bool = False) -> None:
        """Create topics atomically, with replicas spread round-robin over all brokers.

        Args:
            names: the names.
            partitions: the number of partitions of each topic.
            internal: True if the topics are internal.

        Raises:
            ValueError: a topic exists already, or a name is given twice.
        """
        with self._lock:
            self._state = self._with_new_topics(self._state, names, partitions, internal=internal)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        assignment: Sequence[Sequence[int]] | None = None,
        internal: bool = False,
    ) -> None:
        """Create a topic.

        Args:
            name: the name.
            partitions: the number of partitions; ignored with `assignment`.
            assignment: the replicas of each partition.
            internal: True if the topic is internal.

        Raises:
            ValueError: the topic exists already, or a broker does not exist.
        """
        if assignment is None:
            self.create_topics([name], partitions, internal=internal)
            return
        self._check_brokers(broker for replicas in assignment for broker in replicas)
        with self._lock:
            self._state = self._state.with_new_topics([(name, assignment)], self._new_id, internal=internal)

    def delete_topics(self, *names: str) -> None:
        """Delete topics atomically.

        Raises:
            KeyError: a topic does not exist.
        """
        with self._lock:
            self._state = self._state.without_topics(names)

    def recreate_topic(self, name: str, partitions: int | None = None) -> None:
        """Delete a topic and create it again atomically, with a new topic id and leader epochs from 0.

        Args:
            name: the topic.
            partitions: the number of partitions; unchanged by default.

        Raises:
            KeyError: the topic does not exist.
        """
        with self._lock:
            count = len(self._state.topics[name].partitions) if partitions is None else partitions
            others = self._state.without_topics([name])
            self._state = self._with_new_topics(others, [name], count)

    def add_partitions(self, name: str, count: int) -> None:
        """Add `count` partitions to a topic.

        Raises:
            KeyError: the topic does not exist.
        """
        with self._lock:
            first = len(self._state.topics[name].partitions)
            assignment = assign_replicas(tuple(self._brokers), count, self.replication_factor, first=first)
            self._state = self._state.with_partitions(name, assignment)

    def move_leader(self, name: str, partition: int, leader: int) -> None:
        """Make a broker the leader of a partition and increase the leader epoch.

        Args:
            name: the topic.
            partition: the partition.
            leader: the broker, which need not be a replica; -1 for no leader.

        Raises:
            KeyError: the partition does not exist.
            ValueError: the broker does not exist.
        """
        if leader != NO_LEADER:
            self._check_brokers([leader])
        with self._lock:
            self._state = self._state.with_leader(name, partition, leader)

    def remove_leader(self, name: str, partition: int) -> None:
        """Leave a partition without a leader: leader -1 and error 5 (LEADER_NOT_AVAILABLE)."""
        self.move_leader(name, partition, NO_LEADER)

    def shrink_isr(self, name: str, partition: int, *broker_ids: int) -> None:
        """Remove brokers from the ISR of a partition."""
        with self._lock:
            isr = self._state.partition(name, partition).isr_nodes
            self._state = self._state.with_isr(
                name, partition, [broker_id for broker_id in isr if broker_id not in broker_ids]
            )

    def expand_isr(self, name: str, partition: int, *broker_ids: int) -> None:
        """Add brokers to the ISR of a partition."""
        self._check_brokers(broker_ids)
        with self._lock:
            isr = self._state.partition(name, partition).isr_nodes
            added = [broker_id for broker_id in broker_ids if broker_id not in isr]
            self._state = self._state.with_isr(name, partition, [*isr, *added])

    def reassign_partition(self, name: str, partition: int, replicas: Sequence[int]) -> None:
        """Move a partition to other brokers immediately."""
        self._check_brokers(replicas)
        with self._lock:
            self._state = self._state.with_replicas(name, partition, replicas)

    def set_config(self, key: str, value: str | None, *, topic: str | None = None, broker: int | None = None) -> None:
        """Set a dynamic config.

        Args:
            key: the name of the config.
            value: its value; None removes it.
            topic: the topic to configure.
            broker: the broker to configure. Without topic and broker, the cluster-wide default is set.
        """
        resource = (TOPIC, topic) if topic is not None else (BROKER, "" if broker is None else str(broker))
        with self._lock:
            self._state = self._state.with_config(*resource, key, value)

    # Offsets and groups.

    def set_ends(
        self,
        topic: str,
        ends: Mapping[int, int],
        starts: Mapping[int, int] | None = None,
        behind: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """Set the ends of a topic's logs by partition, and their first offsets unless they stay. Others are 0.

        Args:
            topic: the topic.
            ends: the ends of the leaders' logs.
            starts: the first offsets.
            behind: the number of records that followers lack, by partition, then broker.
        """
        self._offsets.ends[topic] = dict(ends)
        self._offsets.behind[topic] = dict(behind or {})
        self._offsets.ended_at[topic] = time.time_ns() // 1_000_000
        if starts is not None:
            self._offsets.starts[topic] = dict(starts)

    def set_group(self, group_id: str, offsets: Mapping[str, Mapping[int, int]], *, members: int = 0) -> None:
        """Create or replace a group.

        Args:
            group_id: its id.
            offsets: its committed offsets by topic and partition.
            members: its number of members, which have its partitions in turn.
        """
        groups = dict(self._offsets.groups)  # a broker may iterate over the other one
        groups[group_id] = FakeGroup(offsets, members)
        self._offsets.groups = groups

    def set_groups(self, groups: Mapping[str, Mapping[str, Mapping[int, int]]], *, members: int = 0) -> None:
        """Replace all groups; see `set_group`."""
        self._offsets.groups = {group_id: FakeGroup(offsets, members) for group_id, offsets in groups.items()}

    def delete_groups(self, *group_ids: str) -> None:
        """Delete groups with their offsets."""
        self._offsets.groups = {
            group_id: group for group_id, group in self._offsets.groups.items() if group_id not in group_ids
        }

    def shuffle_metadata(self) -> None:
        """Shuffle brokers, topics, and partitions in responses without changing their content."""
        with self._lock:
            self._state = self._state.shuffled(self._random)

    def move_random_leaders(self, fraction: float) -> tuple[str, ...]:
        """Move the leader of one random partition of randomly chosen topics, and return the names of the topics.

        The leader epoch of the partition increases even if there is no other replica in sync to lead.

        Args:
            fraction: the fraction of topics to change, from 0 to 1; at least one topic is changed.

        Raises:
            ValueError: `fraction` is out of range.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction={fraction}: expected 0 to 1")
        with self._lock:
            self._state, names = self._state.with_random_leaders(fraction, self._random)
            return names

    # Brokers.

    def move_controller(self, broker_id: int) -> None:
        """Make a broker the controller."""
        self._check_brokers([broker_id])
        with self._lock:
            self._state = replace(self._state, controller_id=broker_id)

    def stop_broker(self, broker_id: int, *, fence: bool = True) -> None:
        """Close the connections of a broker and refuse new ones.

        Args:
            broker_id: the broker.
            fence: also remove it from the metadata; see `fence_broker`. With False, the other brokers keep reporting
                it, as they do until its session expires.
        """
        self._run(self._brokers[broker_id].stop())
        if fence:
            self.fence_broker(broker_id)

    def fence_broker(self, broker_id: int) -> None:
        """Remove a broker from the metadata, as the controller does when its session expires. Its leaders move."""
        with self._lock:
            self._state = self._state.without_broker(broker_id)

    def start_broker(self, broker_id: int) -> None:
        """Start a stopped broker at its old port, registered and in sync."""
        with self._lock:
            self._state = self._state.with_broker(self._addresses[broker_id])
        self._run(self._brokers[broker_id].start())

    def pause_broker(self, broker_id: int) -> None:
        """Stop responding: connections and requests are accepted, as by a process stopped with SIGSTOP."""
        broker = self._brokers[broker_id]
        self._call(lambda: setattr(broker, "paused", True))

    def resume_broker(self, broker_id: int) -> None:
        """Respond to the requests that have arrived since `pause_broker`, and continue."""
        self._call(self._brokers[broker_id].resume)

    def delay_responses(self, broker_id: int, seconds: float) -> None:
        """Delay every response of a broker; 0 ends that."""
        broker = self._brokers[broker_id]
        self._call(lambda: setattr(broker, "delay", seconds))

    def drop_connections(self, broker_id: int) -> None:
        """Close all connections of a broker. New ones are accepted."""
        self._call(self._brokers[broker_id].drop_connections)

    def freeze_metadata(self, broker_id: int, state: ClusterState | None = None) -> None:
        """Make a broker report stale metadata, whatever happens to the cluster.

        Args:
            broker_id: the broker.
            state: the state that it reports; the current one by default.
        """
        with self._lock:
            self._frozen_states[broker_id] = self._state if state is None else state

    def empty_metadata(self, broker_id: int, *, brokers: bool = False) -> None:
        """Make a broker report no topics, as a broker may do right after its start.

        Args:
            broker_id: the broker.
            brokers: also report no brokers.
        """
        state = replace(self._state, topics={})
        self.freeze_metadata(broker_id, replace(state, brokers=(), controller_id=NO_LEADER) if brokers else state)

    def unfreeze_metadata(self, broker_id: int) -> None:
        """Make a broker report the current state again."""
        with self._lock:
            self._frozen_states.pop(broker_id, None)

    def set_api_versions(
        self, api_key: int, min_version: int, max_version: int, *, broker_id: int | None = None
    ) -> None:
        """Change the served versions of an API. Open connections are kept.

        Args:
            api_key: the API.
            min_version: the lowest served version.
            max_version: the highest served version.
            broker_id: the broker; all brokers by default.
        """
        brokers = self._brokers.values() if broker_id is None else (self._brokers[broker_id],)

        def set_all() -> None:
            for broker in brokers:
                broker.versions[api_key] = (min_version, max_version)

        self._call(set_all)

    def misbehave(
        self, broker_id: int, misbehavior: Misbehavior | str, *, times: int | None = 1, api_key: int | None = 3
    ) -> None:
        """Make a broker violate the protocol.

        Args:
            broker_id: the broker.
            misbehavior: its reaction to a request.
            times: for how many requests; None until `stop_misbehaving`.
            api_key: the API of these requests, Metadata by default; None for any.
        """
        broker = self._brokers[broker_id]
        planned = PlannedMisbehavior(Misbehavior(misbehavior), api_key)
        self._call(lambda: broker.plan(planned, times))

    def stop_misbehaving(self, broker_id: int) -> None:
        """Cancel every planned misbehavior of a broker."""
        self._call(self._brokers[broker_id].cancel_misbehaviors)

    def _check_brokers(self, broker_ids: Iterable[int]) -> None:
        """Raise ValueError for an id that is not in the cluster. Stopped brokers are."""
        for broker_id in broker_ids:
            if broker_id not in self._brokers:
                ids = ", ".join(map(str, self._brokers))
                raise ValueError(f"broker {broker_id} does not exist: the cluster has {ids}")

    def _state_of(self, broker_id: int) -> ClusterState:
        return self._frozen_states.get(broker_id, self._state)

    def _controller_in(self, state: ClusterState) -> int:
        if self._kraft and state.brokers:
            return self._random.choice(state.brokers).node_id
        return state.controller_id

    def _with_new_topics(
        self, state: ClusterState, names: Iterable[str], partitions: int, *, internal: bool = False
    ) -> ClusterState:
        topics = spread_topics(names, len(state.topics), tuple(self._brokers), partitions, self.replication_factor)
        return state.with_new_topics(topics, self._new_id, internal=internal)

    def _new_id(self) -> UUID:
        return UUID(bytes=self._random.randbytes(16), version=4)
