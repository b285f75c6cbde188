"""`FakeCluster` with independent clients (confluent-kafka, kafka-python) and with kwire's own."""

from __future__ import annotations

import gc
import socket
import threading
import warnings
from contextlib import contextmanager, suppress
from struct import pack
from typing import TYPE_CHECKING, Any, Literal

import confluent_kafka.admin
import pytest

from kwire import DecodeError, frame
from kwire.client import Connection
from kwire.frame import Splitter
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.testing import FakeCluster, Misbehavior
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from kwire.testing.cluster_state import ClusterState

    Content: TypeAlias = dict[str, dict[int, tuple[int, list[int], list[int]]]]
    """Topic, partition -> leader, replicas, ISR."""


CONFLUENT: Any = confluent_kafka.admin


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=200, partitions=5, racks={1: "a", 2: "b"}) as cluster:
        yield cluster


def content(state: ClusterState) -> Content:
    return {
        name: {
            partition.partition_index: (partition.leader_id, list(partition.replica_nodes), list(partition.isr_nodes))
            for partition in topic.partitions
        }
        for name, topic in state.topics.items()
    }


# confluent-kafka.


def confluent(cluster: FakeCluster) -> Any:
    return CONFLUENT.AdminClient({"bootstrap.servers": cluster.bootstrap})


def list_topics(client: Any) -> Any:
    return client.list_topics(timeout=60)


def content_of_confluent(metadata: Any) -> Content:
    return {
        name: {
            partition.id: (partition.leader, partition.replicas, partition.isrs)
            for partition in topic.partitions.values()
        }
        for name, topic in metadata.topics.items()
    }


def test_confluent_kafka_lists_topics(cluster: FakeCluster) -> None:
    metadata = list_topics(confluent(cluster))
    assert content_of_confluent(metadata) == content(cluster.state)
    assert metadata.cluster_id == cluster.state.cluster_id
    assert {f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()} == {*cluster.bootstrap.split(",")}


def test_confluent_kafka_lists_changes(cluster: FakeCluster) -> None:
    client = confluent(cluster)
    list_topics(client)
    cluster.create_topic("new", 7)
    cluster.delete_topics("topic-00003")
    cluster.move_leader("topic-00004", 2, 1)
    cluster.shrink_isr("topic-00005", 0, 3)
    cluster.move_random_leaders(0.1)
    cluster.shuffle_metadata()
    assert content_of_confluent(list_topics(client)) == content(cluster.state)


def test_confluent_kafka_reads_a_partition_without_a_leader(cluster: FakeCluster) -> None:
    cluster.remove_leader("topic-00000", 0)
    partition = list_topics(confluent(cluster)).topics["topic-00000"].partitions[0]
    assert partition.leader == -1
    assert partition.error.code() == 5


def test_confluent_kafka_describes_topics_and_configs(cluster: FakeCluster) -> None:
    cluster.set_config("retention.ms", "5", topic="topic-00000")
    resource = CONFLUENT.ConfigResource(CONFLUENT.ResourceType.TOPIC, "topic-00000")
    client = confluent(cluster)  # must outlive its futures
    configs = client.describe_configs([resource])[resource].result(60)
    assert {entry.name: entry.value for entry in configs.values()} == {"retention.ms": "5"}


def test_confluent_kafka_describes_the_cluster(cluster: FakeCluster) -> None:
    client = confluent(cluster)
    described = client.describe_cluster().result(60)
    assert described.cluster_id == cluster.state.cluster_id
    assert sorted(node.id for node in described.nodes) == [1, 2, 3]
    assert {node.id: node.rack for node in described.nodes} == {1: "a", 2: "b", 3: None}


# kafka-python.


@contextmanager
def kafka_python(*bootstrap: str) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised when kafka-python is imported
        from kafka import KafkaAdminClient
    client = KafkaAdminClient(bootstrap_servers=list(bootstrap))
    try:
        yield client
    finally:
        client.close()


def content_of_kafka_python(topics: list[dict[str, Any]]) -> Content:
    return {
        topic["name"]: {
            row["partition_index"]: (row["leader_id"], list(row["replica_nodes"]), list(row["isr_nodes"]))
            for row in topic["partitions"]
        }
        for topic in topics
    }


def test_kafka_python_describes_topics(cluster: FakeCluster) -> None:
    with kafka_python(*cluster.bootstrap.split(",")) as client:
        assert content_of_kafka_python(client.describe_topics()) == content(cluster.state)
    cluster.stop_broker(3)
    cluster.recreate_topic("topic-00000", 2)
    # A new client, because one that knows the stopped broker may send to it, which it does not repeat elsewhere.
    with kafka_python(cluster.endpoint(1)) as client:
        assert content_of_kafka_python(client.describe_topics()) == content(cluster.state)


def test_kafka_python_describes_the_cluster(cluster: FakeCluster) -> None:
    with kafka_python(cluster.endpoint(1)) as client:
        assert client.describe_cluster()["cluster_id"] == cluster.state.cluster_id


# Requests.


async def send(cluster: FakeCluster, request: Any, version: int | None = None, broker_id: int = 1) -> Any:
    async with await Connection.open(cluster.endpoint(broker_id)) as connection:
        return await connection.send(request, version=version)


@pytest.mark.parametrize("version", MetadataRequest.versions)
async def test_metadata_of_all_some_or_no_topics(cluster: FakeCluster, version: int) -> None:
    everything = MetadataRequest(topics=() if version == 0 else None)
    topics = (await send(cluster, everything, version)).topics
    assert [topic.name for topic in topics] == list(cluster.state.topics)
    some = MetadataRequest(topics=(MetadataRequestTopic(name="topic-00007"), MetadataRequestTopic(name="nosuch")))
    found, missing = (await send(cluster, some, version)).topics
    assert (found.name, found.error_code, len(found.partitions)) == ("topic-00007", 0, 5)
    assert (missing.name, missing.error_code, missing.partitions) == ("nosuch", 3, ())
    if version > 0:
        response = await send(cluster, MetadataRequest(topics=()), version)
        assert (response.topics, len(response.brokers)) == ((), 3)


async def test_metadata_by_topic_id(cluster: FakeCluster) -> None:
    known = cluster.state.topics["topic-00007"].topic_id
    cluster.delete_topics("topic-00008")
    requested = [
        MetadataRequestTopic(topic_id=known, name=None),
        MetadataRequestTopic(topic_id=type(known)(int=1), name=None),
    ]
    found, missing = (await send(cluster, MetadataRequest(topics=tuple(requested)))).topics
    assert found == cluster.state.topics["topic-00007"]
    assert (missing.name, missing.error_code) == (None, 100)


@pytest.mark.parametrize("version", [10, 11])
async def test_topic_id_before_version_12_is_rejected(cluster: FakeCluster, version: int) -> None:
    known = cluster.state.topics["topic-00007"].topic_id
    requested = [MetadataRequestTopic(topic_id=known, name=None), MetadataRequestTopic(name="topic-00007")]
    response = await send(cluster, MetadataRequest(topics=tuple(requested)), version)
    assert [(topic.name, topic.topic_id, topic.error_code, topic.partitions) for topic in response.topics] == [
        ("", known, 42, ()),
        ("topic-00007", type(known)(int=0), 42, ()),
    ]
    assert (response.brokers, response.controller_id) == ((), -1)


async def test_describe_configs(cluster: FakeCluster) -> None:
    cluster.set_config("retention.ms", "5", topic="topic-00000")
    cluster.set_config("retention.bytes", "6", topic="topic-00000")
    cluster.set_config("log.retention.ms", "7", broker=1)
    requested = [
        (2, "topic-00000", ("retention.ms",)),
        (2, "nosuch", None),
        (4, "1", None),
        (4, "2", None),
        (9, "x", None),
    ]
    queries = [DescribeConfigsResource(resource_type=t, resource_name=n, configuration_keys=k) for t, n, k in requested]
    results = (await send(cluster, DescribeConfigsRequest(resources=tuple(queries)))).results
    assert [(result.error_code, [(entry.name, entry.value) for entry in result.configs]) for result in results] == [
        (0, [("retention.ms", "5")]),
        (3, []),
        (0, [("log.retention.ms", "7")]),
        (42, []),
        (42, []),
    ]


async def test_kip4_dialect() -> None:
    with FakeCluster(2, topics=["a", "b"], partitions=2, dialect="kip4") as cluster:
        cluster.shrink_isr("a", 0, 2)
        cluster.set_config("retention.ms", "5", topic="b")
        topics = (await send(cluster, TopicMetadataRequest_V1(topic_names=()))).topics
        assert [topic.topic_name for topic in topics] == ["a", "b"]
        first = topics[0].partitions[0]
        assert (first.leader, first.isr) == (1, (1,))
        assert [(lag.replica_id, lag.lag) for lag in first.replicas_lag] == [(1, 0), (2, -1)]
        assert [(config_entry.config_key, config_entry.config_value) for config_entry in topics[1].config_entries] == [
            ("retention.ms", "5")
        ]
        found, missing = (await send(cluster, TopicMetadataRequest_V1(topic_names=("b", "nosuch")))).topics
        assert (found, missing.topic_error_code) == (topics[1], 3)
        response = await send(cluster, ClusterMetadataRequest())
        assert response.controller == response.brokers[0]


async def test_kip4_lag_of_a_stopped_replica_is_unknown_although_it_stays_in_the_isr() -> None:
    with FakeCluster(2, topics=["a"], partitions=1, dialect="kip4") as cluster:
        cluster.shrink_isr("a", 0, 1)
        cluster.stop_broker(2)
        [topic] = (await send(cluster, TopicMetadataRequest_V1(topic_names=()))).topics
        [partition] = topic.partitions
        assert (partition.leader, partition.isr) == (-1, (2,))
        assert [(lag.replica_id, lag.lag) for lag in partition.replicas_lag] == [(1, -1), (2, -1)]


# Unsupported and malformed requests.


def exchange(cluster: FakeCluster, request: bytes) -> bytes:
    """Send bytes to a broker and return its response; empty if it closes the connection."""
    host, _, port = cluster.endpoint(1).partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(request)
        received = b""
        with suppress(ConnectionResetError):
            while chunk := client.recv(1 << 16):
                received += chunk
                if len(received) >= 4 + int.from_bytes(received[:4], "big"):
                    break
        return received


def test_unsupported_version_of_api_versions_gets_error_35(cluster: FakeCluster) -> None:
    [payload] = Splitter().feed(exchange(cluster, pack(">ihhihb", 11, 18, 99, 7, -1, 0)))
    read = frame.decode_response(payload, ApiVersionsResponse, version=0)
    assert (read.correlation_id, read.message.error_code) == (7, 35)
    assert [(api.api_key, api.min_version, api.max_version) for api in read.message.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(
    "request_bytes",
    [
        pack(">ihhih", 10, 3, 14, 7, -1),
        pack(">ihhih", 10, 999, 0, 7, -1),
        pack(">ihhih", 10, 1, 0, 7, -1),
        pack(">i", -1),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["version", "key", "body", "size", "http"],
)
def test_invalid_request_closes_the_connection(cluster: FakeCluster, request_bytes: bytes) -> None:
    assert exchange(cluster, request_bytes) == b""


# Changes and misbehavior.


async def test_received_requests_are_kept(cluster: FakeCluster) -> None:
    await send(cluster, MetadataRequest(topics=None), version=5, broker_id=2)
    assert cluster.requests(1) == []
    received = cluster.requests(2)[-1]
    assert (received.api_key, received.version, received.client_id) == (3, 5, "kwire")
    assert received.message == MetadataRequest(topics=None)


async def test_frozen_metadata_is_stale(cluster: FakeCluster) -> None:
    before = cluster.state
    cluster.freeze_metadata(2)
    cluster.create_topic("new")
    assert await send(cluster, MetadataRequest(topics=None), broker_id=1) == cluster.state.metadata()
    assert await send(cluster, MetadataRequest(topics=None), broker_id=2) == before.metadata()
    cluster.unfreeze_metadata(2)
    assert await send(cluster, MetadataRequest(topics=None), broker_id=2) == cluster.state.metadata()


async def test_stopped_broker_keeps_its_port(cluster: FakeCluster) -> None:
    endpoint = cluster.endpoint(2)
    cluster.stop_broker(2)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), timeout=60)
    assert [broker.node_id for broker in cluster.state.brokers] == [1, 3]
    cluster.start_broker(2)
    assert cluster.endpoint(2) == endpoint
    assert await send(cluster, MetadataRequest(topics=None), broker_id=2) == cluster.state.metadata()


async def test_misbehavior_can_be_canceled(cluster: FakeCluster) -> None:
    cluster.misbehave(1, "close", times=None)
    cluster.misbehave(1, Misbehavior.GARBAGE, times=5)
    cluster.stop_misbehaving(1)
    assert await send(cluster, MetadataRequest(topics=None)) == cluster.state.metadata()


KAFKA_REQUESTS = [
    *((MetadataRequest(topics=topics), version) for topics in (None, ()) for version in (1, 8, 9, 11, 12, 13)),
    *((DescribeConfigsRequest(resources=()), version) for version in (1, 2, 3, 4)),
    *((DescribeClusterRequest(include_cluster_authorized_operations=False), version) for version in (0, 1, 2)),
]
KIP4_REQUESTS = [(TopicMetadataRequest_V1(topic_names=()), 1), (ClusterMetadataRequest(), 0)]


@pytest.mark.parametrize("topics", [0, 2])
@pytest.mark.parametrize(
    ("dialect", "request_message", "version"),
    [*(("kafka", *request) for request in KAFKA_REQUESTS), *(("kip4", *request) for request in KIP4_REQUESTS)],
)
async def test_wrong_version_never_decodes_to_the_right_response(
    dialect: Literal["kafka", "kip4"], request_message: Any, version: int, topics: int
) -> None:
    with FakeCluster(1, topics=topics, dialect=dialect) as cluster:
        expected = await send(cluster, request_message, version)
        cluster.misbehave(1, Misbehavior.WRONG_VERSION, api_key=None)
        encoded = frame.encode_request(request_message, version=version, correlation_id=1)
        [payload] = Splitter().feed(exchange(cluster, encoded))
        try:
            read = frame.decode_response(payload, type(expected), version=version).message
        except DecodeError:
            return
        assert read != expected


def test_stopped_cluster_rejects_calls() -> None:
    cluster = FakeCluster(1)
    with pytest.raises(RuntimeError, match="not running"):
        cluster.pause_broker(1)
    with cluster:
        pass
    cluster.close()


def test_cluster_starts_once(cluster: FakeCluster) -> None:
    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "FakeCluster"]

    before = threads()
    with pytest.raises(RuntimeError, match="already running"):
        cluster.start()
    assert threads() == before
    cluster.close()
    with pytest.raises(RuntimeError, match="create another one"):
        cluster.start()


def leaked_sockets(action: Callable[[], object]) -> list[str]:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
        gc.collect()
    return [str(warning.message) for warning in caught if warning.category is ResourceWarning]


def test_cluster_that_never_started_releases_its_ports() -> None:
    assert leaked_sockets(lambda: FakeCluster(2).close()) == []


MISTAKES: dict[str, dict[str, Any]] = {
    "brokers=0: expected at least one broker": {"brokers": 0},
    "no duplicate ids": {"brokers": [1, 1]},
    "dialect='x': expected kafka or kip4": {"dialect": "x"},
    "topic 'a' already exists": {"topics": ["a", "a"]},
    "partitions=-1: expected at least 1": {"topics": 1, "partitions": -1},
    "replication factor 3 with 2 brokers": {"brokers": 2, "topics": 1, "replication_factor": 3},
    "replication factor 0": {"topics": 1, "replication_factor": 0},
}


@for_rows("message", MISTAKES)
def test_invalid_arguments_are_rejected_and_leak_nothing(message: str) -> None:
    def create() -> None:
        with pytest.raises(ValueError, match=message):
            FakeCluster(**MISTAKES[message])

    assert leaked_sockets(create) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda cluster: cluster.move_leader("topic-00000", 0, 77),
        lambda cluster: cluster.reassign_partition("topic-00000", 0, [1, 77]),
        lambda cluster: cluster.expand_isr("topic-00000", 0, 77),
        lambda cluster: cluster.create_topic("new", assignment=[[1], [77]]),
        lambda cluster: cluster.move_controller(77),
    ],
    ids=["leader", "replicas", "isr", "assignment", "controller"],
)
def test_unknown_broker_is_rejected(cluster: FakeCluster, change: Callable[[FakeCluster], None]) -> None:
    before = cluster.state
    with pytest.raises(ValueError, match="broker 77 does not exist: the cluster has 1, 2, 3"):
        change(cluster)
    assert cluster.state is before


def test_duplicate_names_create_nothing(cluster: FakeCluster) -> None:
    before = cluster.state
    with pytest.raises(ValueError, match="'b'"):
        cluster.create_topics(["a", "b", "b"])
    assert cluster.state is before


@pytest.mark.parametrize("count", [0, -1])
def test_less_than_one_partition_is_rejected(cluster: FakeCluster, count: int) -> None:
    before = cluster.state
    for change in (cluster.create_topic, cluster.add_partitions, cluster.recreate_topic):
        with pytest.raises(ValueError, match=f"partitions={count}"):
            change("new" if change == cluster.create_topic else "topic-00000", count)
    assert cluster.state is before


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_fraction_of_topics_is_between_0_and_1(cluster: FakeCluster, fraction: float) -> None:
    with pytest.raises(ValueError, match=f"fraction={fraction}"):
        cluster.move_random_leaders(fraction)
    assert len(cluster.move_random_leaders(1)) == 200
    assert len(cluster.move_random_leaders(0)) == 1
    cluster.delete_topics(*cluster.state.topics)
    assert cluster.move_random_leaders(1) == ()


@pytest.mark.parametrize("name", ["topic-00000", "new"])
def test_existing_topic_is_rejected(cluster: FakeCluster, name: str) -> None:
    cluster.create_topic("new", assignment=[(3, 2), (1,)])
    assert [partition.replica_nodes for partition in cluster.state.topics["new"].partitions] == [(3, 2), (1,)]
    with pytest.raises(ValueError, match=name):
        cluster.create_topic(name)
    with pytest.raises(ValueError, match=name):
        cluster.create_topic(name, assignment=[(1,)])
    with pytest.raises(KeyError):
        cluster.delete_topics("nosuch")
