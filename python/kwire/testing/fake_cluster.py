"""``FakeCluster``: a small server that answers like a Kafka cluster of thousands of topics, and changes when told to.

    with FakeCluster(brokers=3, topics=5_000, partitions=20) as cluster:
        ...                                     # any client, at cluster.bootstrap
        cluster.move_leader("topic-00000", 0, 2)
        cluster.pause_broker(3)

Rules of this file: the cluster lives in a thread of its own, so that blocking and asyncio programs can use it alike;
every method may be called from any thread, and what it did is told by the brokers from then on. The state is one
immutable value, replaced at a stroke. It listens on 127.0.0.1 only, at free ports.

It answers ApiVersions, Metadata, DescribeConfigs and DescribeCluster of Kafka, or, with ``dialect="kip4"``,
ApiVersions, TopicMetadata_V1 and ClusterMetadata of KIP-4. It keeps no records, creates no topic by itself and knows no
security.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from kwire.messages.kafka.metadata import MetadataResponseBroker, MetadataResponseTopic
from kwire.testing.cluster_state import NO_LEADER, ClusterState, assign_replicas
from kwire.testing.fake_broker import VERSIONS, FakeBroker, PlannedMisbehavior, ReceivedRequest
from kwire.testing.misbehavior import Misbehavior
from kwire.testing.response_cache import ResponseCache

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self, TypeVar

    T = TypeVar("T")

__all__ = ["FakeCluster"]

TOPIC, BROKER = 2, 4
KRAFT_FEATURES = (("metadata.version", 1, 30),)
STARTS_WITHIN = 10.0
"""Seconds for the thread to answer; it needs none."""


class FakeCluster:
    """N brokers on 127.0.0.1, while in a ``with`` block.

    ``brokers``: how many, numbered from 1, or their ids. ``topics``: how many (``topic-00000`` and on), or their names;
    each of ``partitions`` partitions with ``replication_factor`` replicas (3, or as many as there are brokers).
    ``kraft``: whether, as under KRaft, every answer names a random live broker as controller. ``racks``: by broker id.
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
        """Raises ValueError for arguments that make no cluster."""
        ids = tuple(range(1, brokers + 1)) if isinstance(brokers, int) else tuple(brokers)
        if not ids or len(set(ids)) < len(ids):
            raise ValueError(f"brokers={brokers!r}: at least one is wanted, and each id once")
        if dialect not in VERSIONS:
            raise ValueError(f"dialect={dialect!r}: a fake cluster speaks {' or '.join(VERSIONS)}")
        self.dialect = dialect
        self.replication_factor = min(3, len(ids)) if replication_factor is None else replication_factor
        self._random = Random(seed)  # noqa: S311  # names and choices, no secrets
        self._kraft = kraft
        self._lock = threading.RLock()
        self._views: dict[int, ClusterState] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        answers = ResponseCache()
        features = KRAFT_FEATURES if kraft and dialect == "kafka" else ()
        self._brokers = {
            node_id: FakeBroker(node_id, dialect, answers, self._view, self._controller, features) for node_id in ids
        }
        racks = racks or {}
        self._addresses = {
            node_id: MetadataResponseBroker(
                node_id=node_id, host="127.0.0.1", port=broker.port, rack=racks.get(node_id)
            )
            for node_id, broker in self._brokers.items()
        }
        self._state = ClusterState(cluster_id, ids[0], tuple(self._addresses.values()))
        names = [f"topic-{n:05}" for n in range(topics)] if isinstance(topics, int) else list(topics)
        try:
            self.create_topics(names, partitions)
        except BaseException:
            self.close()  # its ports are bound, and nobody else knows it
            raise

    # What it is like.

    @property
    def state(self) -> ClusterState:
        """The cluster as it is; a broker with a view of its own may tell otherwise."""
        return self._state

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients like to have them: ``127.0.0.1:40001,127.0.0.1:40002``."""
        return ",".join(self.endpoint(node_id) for node_id in self._brokers)

    def endpoint(self, node_id: int) -> str:
        """One broker's ``host:port``."""
        return f"127.0.0.1:{self._brokers[node_id].port}"

    def requests(self, node_id: int | None = None) -> list[ReceivedRequest]:
        """What one broker, or all, have been asked so far (the last 10,000 each), the oldest first."""
        brokers = self._brokers.values() if node_id is None else (self._brokers[node_id],)
        return self._call(lambda: [request for broker in brokers for request in broker.seen])

    def connection_count(self, node_id: int) -> int:
        """How many clients are connected to a broker."""
        return self._call(lambda: len(self._brokers[node_id].connections))

    # Topics.

    def create_topics(self, names: Iterable[str], partitions: int = 1, *, internal: bool = False) -> None:
        """Topics whose replicas are spread in turns over all brokers.

        Raises ValueError for a name that is taken or given twice; then none is created.
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
        """One topic, where ``assignment`` says or anywhere. Raises ValueError for a name that is taken."""
        if assignment is None:
            self.create_topics([name], partitions, internal=internal)
            return
        self._check_brokers(broker for replicas in assignment for broker in replicas)
        with self._lock:
            if name in self._state.topics:
                raise ValueError(f"there is a topic {name!r} already")
            made = self._state.new_topic(name, self._new_id(), assignment, internal=internal)
            self._state = self._state.with_topics([made])

    def delete_topics(self, *names: str) -> None:
        """Raises KeyError for one that is not there; then all stay."""
        with self._lock:
            self._state = self._state.without_topics(names)

    def recreate_topic(self, name: str, partitions: int | None = None) -> None:
        """Deleted and made anew at a stroke: another id, epochs from 0."""
        with self._lock:
            count = len(self._state.topics[name].partitions) if partitions is None else partitions
            self._state = self._with_new_topics(self._state.without_topics([name]), [name], count, internal=False)

    def add_partitions(self, name: str, count: int) -> None:
        """As many more."""
        with self._lock:
            first = len(self._state.topics[name].partitions)
            assignment = assign_replicas(tuple(self._brokers), count, self.replication_factor, first=first)
            self._state = self._state.with_partitions(name, assignment)

    def move_leader(self, name: str, partition: int, leader: int) -> None:
        """Let another broker lead, a replica or not; -1 for none."""
        if leader != NO_LEADER:
            self._check_brokers([leader])
        with self._lock:
            self._state = self._state.with_leader(name, partition, leader)

    def remove_leader(self, name: str, partition: int) -> None:
        """Leave a partition without a leader: -1 and error 5."""
        self.move_leader(name, partition, NO_LEADER)

    def shrink_isr(self, name: str, partition: int, *gone: int) -> None:
        """Take replicas out of the set of those in sync."""
        with self._lock:
            isr = self._state.partition(name, partition).isr_nodes
            self._state = self._state.with_isr(name, partition, [each for each in isr if each not in gone])

    def expand_isr(self, name: str, partition: int, *back: int) -> None:
        """Put replicas into the set of those in sync."""
        self._check_brokers(back)
        with self._lock:
            isr = self._state.partition(name, partition).isr_nodes
            self._state = self._state.with_isr(name, partition, [*isr, *(each for each in back if each not in isr)])

    def reassign_partition(self, name: str, partition: int, replicas: Sequence[int]) -> None:
        """Move a partition to other brokers, without the time it would take."""
        self._check_brokers(replicas)
        with self._lock:
            self._state = self._state.with_replicas(name, partition, replicas)

    def set_config(self, key: str, value: str | None, *, topic: str | None = None, broker: int | None = None) -> None:
        """Set a topic's, a broker's or (with neither) all brokers' setting; None takes it back."""
        resource = (TOPIC, topic) if topic is not None else (BROKER, "" if broker is None else str(broker))
        with self._lock:
            self._state = self._state.with_config(*resource, key, value)

    def shuffle_metadata(self) -> None:
        """Tell the same in another order: brokers, topics, partitions."""
        with self._lock:
            state = self._state
            topics = [
                replace(topic, partitions=tuple(self._random.sample(topic.partitions, len(topic.partitions))))
                for topic in self._random.sample(list(state.topics.values()), len(state.topics))
            ]
            brokers = tuple(self._random.sample(state.brokers, len(state.brokers)))
            self._state = replace(state, brokers=brokers, topics={topic.name or "": topic for topic in topics})

    def move_random_leaders(self, share: float) -> tuple[str, ...]:
        """Let another replica lead one partition of a share of all topics; the names of these.

        ``share``: from 0 to 1. Of one topic at least, if there is any.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share={share}: of all topics, from 0 to 1")
        with self._lock:
            state = self._state
            topics = list(state.topics)
            names = self._random.sample(topics, min(len(topics), max(1, round(share * len(topics)))))
            changed = []
            for name in names:
                topic = state.topics[name]
                at = self._random.randrange(len(topic.partitions))
                partition = topic.partitions[at]
                others = [replica for replica in partition.isr_nodes if replica != partition.leader_id]
                moved = replace(
                    partition,
                    leader_id=others[0] if others else partition.leader_id,
                    leader_epoch=partition.leader_epoch + 1,
                )
                changed.append(replace(topic, partitions=(*topic.partitions[:at], moved, *topic.partitions[at + 1 :])))
            self._state = state.with_topics(changed)
            return tuple(names)

    # Brokers.

    def move_controller(self, node_id: int) -> None:
        """Let another broker be the controller."""
        self._check_brokers([node_id])
        with self._lock:
            self._state = replace(self._state, controller_id=node_id)

    def stop_broker(self, node_id: int, *, fence: bool = True) -> None:
        """Its connections end, new ones are refused. ``fence``: whether the others know it and move its leaders."""
        self._run(self._brokers[node_id].stop())
        if fence:
            self.fence_broker(node_id)

    def fence_broker(self, node_id: int) -> None:
        """Let the others know that a broker is gone."""
        with self._lock:
            self._state = self._state.without_broker(node_id)

    def start_broker(self, node_id: int) -> None:
        """Back at the same port, known to the others and in sync."""
        with self._lock:
            self._state = self._state.with_broker(self._addresses[node_id])
        self._run(self._brokers[node_id].start())

    def pause_broker(self, node_id: int) -> None:
        """It takes connections and requests and does not answer, as a stopped process."""
        broker = self._brokers[node_id]
        self._call(lambda: setattr(broker, "paused", True))

    def resume_broker(self, node_id: int) -> None:
        """It answers what has come in meanwhile, and goes on."""
        self._call(self._brokers[node_id].resume)

    def delay_responses(self, node_id: int, seconds: float) -> None:
        """Let every answer take so long from now on."""
        broker = self._brokers[node_id]
        self._call(lambda: setattr(broker, "delay", seconds))

    def drop_connections(self, node_id: int) -> None:
        """End all connections of a broker, as a restart too quick to be seen otherwise."""
        self._call(self._brokers[node_id].drop_connections)

    def freeze_metadata(self, node_id: int, state: ClusterState | None = None) -> None:
        """Let a broker tell this state, or what is so now, whatever happens to the cluster."""
        with self._lock:
            self._views[node_id] = self._state if state is None else state

    def empty_metadata(self, node_id: int, *, brokers: bool = False) -> None:
        """Let a broker tell of no topics, as one just restarted may; with ``brokers``, of no brokers either."""
        state = replace(self._state, topics={})
        self.freeze_metadata(node_id, replace(state, brokers=(), controller_id=NO_LEADER) if brokers else state)

    def unfreeze_metadata(self, node_id: int) -> None:
        """Let a broker tell what is so again."""
        with self._lock:
            self._views.pop(node_id, None)

    def set_api_versions(self, api_key: int, lowest: int, highest: int, *, node_id: int | None = None) -> None:
        """What one broker, or all, answer from now on; connections that know otherwise are not ended."""
        brokers = self._brokers.values() if node_id is None else (self._brokers[node_id],)

        def set_all() -> None:
            for broker in brokers:
                broker.versions[api_key] = (lowest, highest)

        self._call(set_all)

    def misbehave(
        self, node_id: int, what: Misbehavior | str, *, times: int | None = 1, api_key: int | None = 3
    ) -> None:
        """Let a broker do this wrong the next ``times`` that it is asked for ``api_key``.

        ``times`` None: until ``stop_misbehaving``. ``api_key`` None: whatever it is asked for.
        """
        broker = self._brokers[node_id]
        plan = PlannedMisbehavior(Misbehavior(what), api_key)

        def take_in() -> None:
            if times is None:
                broker.always = plan
            else:
                broker.misbehaviors.extend([plan] * times)

        self._call(take_in)

    def stop_misbehaving(self, node_id: int) -> None:
        """Forget what it was told to do wrong."""
        broker = self._brokers[node_id]

        def forget() -> None:
            broker.always = None
            broker.misbehaviors.clear()

        self._call(forget)

    # The thread.

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Begin to listen. ``with`` does that. Raises RuntimeError when it was started or closed before."""
        if self._closed:
            raise RuntimeError("the cluster is closed and has given its ports back: make another")
        if self._loop is not None:
            raise RuntimeError("the cluster is running already")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="FakeCluster", daemon=True)
        self._thread.start()
        for broker in self._brokers.values():
            self._run(broker.start())

    def close(self) -> None:
        """End all connections and the thread, and give the ports back; also when it was never started."""
        if self._closed:
            return
        self._closed = True
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            for broker in self._brokers.values():
                self._run(broker.stop())
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        for broker in self._brokers.values():
            broker.give_port_back()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            coroutine.close()
            raise RuntimeError("the cluster is not running: use it in a `with` block")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(STARTS_WITHIN)

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._run(call())

    def _check_brokers(self, ids: Iterable[int]) -> None:
        """Raise ValueError for one that was never in the cluster; a stopped one was."""
        for node_id in ids:
            if node_id not in self._brokers:
                known = ", ".join(map(str, self._brokers))
                raise ValueError(f"there is no broker {node_id}: there are {known}")

    def _view(self, node_id: int) -> ClusterState:
        return self._views.get(node_id, self._state)

    def _controller(self, state: ClusterState) -> int:
        if self._kraft and state.brokers:
            return self._random.choice(state.brokers).node_id
        return state.controller_id

    def _with_new_topics(
        self, state: ClusterState, names: Iterable[str], partitions: int, *, internal: bool
    ) -> ClusterState:
        ids = tuple(self._brokers)
        made: dict[str, MetadataResponseTopic] = {}
        for n, name in enumerate(names, start=len(state.topics)):
            if name in state.topics or name in made:
                raise ValueError(f"there is a topic {name!r} already")
            turned = ids[n % len(ids) :] + ids[: n % len(ids)]
            assignment = assign_replicas(turned, partitions, self.replication_factor)
            made[name] = state.new_topic(name, self._new_id(), assignment, internal=internal)
        return state.with_topics(made.values())

    def _new_id(self) -> UUID:
        return UUID(bytes=self._random.randbytes(16), version=4)
