"""Other people's clients read a fake cluster: one codec on both ends proves nothing."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import warnings
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
            each.partition_index: (each.leader_id, list(each.replica_nodes), list(each.isr_nodes))
            for each in topic.partitions
        }
        for name, topic in state.topics.items()
    }


# confluent-kafka.


def confluent(cluster: FakeCluster) -> Any:
    return CONFLUENT.AdminClient({"bootstrap.servers": cluster.bootstrap})


def as_confluent_reads_it(client: Any) -> Any:
    return client.list_topics(timeout=10)


def content_of_confluent(metadata: Any) -> Content:
    return {
        name: {each.id: (each.leader, each.replicas, each.isrs) for each in topic.partitions.values()}
        for name, topic in metadata.topics.items()
    }


def test_confluent_kafka_reads_it(cluster: FakeCluster) -> None:
    metadata = as_confluent_reads_it(confluent(cluster))
    assert content_of_confluent(metadata) == content(cluster.state)
    assert metadata.cluster_id == cluster.state.cluster_id
    assert {f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()} == {*cluster.bootstrap.split(",")}


def test_confluent_kafka_sees_it_change(cluster: FakeCluster) -> None:
    client = confluent(cluster)
    as_confluent_reads_it(client)
    cluster.create_topic("new", 7)
    cluster.delete_topics("topic-00003")
    cluster.move_leader("topic-00004", 2, 1)
    cluster.shrink_isr("topic-00005", 0, 3)
    cluster.move_random_leaders(0.1)
    cluster.shuffle_metadata()
    assert content_of_confluent(as_confluent_reads_it(client)) == content(cluster.state)


def test_confluent_kafka_reads_a_partition_without_a_leader(cluster: FakeCluster) -> None:
    cluster.remove_leader("topic-00000", 0)
    partition = as_confluent_reads_it(confluent(cluster)).topics["topic-00000"].partitions[0]
    assert partition.leader == -1
    assert partition.error.code() == 5


def test_confluent_kafka_describes_topics_and_configs(cluster: FakeCluster) -> None:
    cluster.set_config("retention.ms", "5", topic="topic-00000")
    resource = CONFLUENT.ConfigResource(CONFLUENT.ResourceType.TOPIC, "topic-00000")
    client = confluent(cluster)  # which must live as long as its futures
    configs = client.describe_configs([resource])[resource].result(10)
    assert {entry.name: entry.value for entry in configs.values()} == {"retention.ms": "5"}


def test_confluent_kafka_describes_the_cluster(cluster: FakeCluster) -> None:
    client = confluent(cluster)
    described = client.describe_cluster().result(10)
    assert described.cluster_id == cluster.state.cluster_id
    assert sorted(node.id for node in described.nodes) == [1, 2, 3]
    assert {node.id: node.rack for node in described.nodes} == {1: "a", 2: "b", 3: None}


# kafka-python.


@pytest.fixture
def kafka_python(cluster: FakeCluster) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way when it is imported
        from kafka import KafkaAdminClient
    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))
    yield client
    client.close()


def content_of_kafka_python(topics: list[dict[str, Any]]) -> Content:
    return {
        topic["name"]: {
            each["partition_index"]: (each["leader_id"], list(each["replica_nodes"]), list(each["isr_nodes"]))
            for each in topic["partitions"]
        }
        for topic in topics
    }


def test_kafka_python_reads_it(cluster: FakeCluster, kafka_python: Any) -> None:
    assert content_of_kafka_python(kafka_python.describe_topics()) == content(cluster.state)
    cluster.stop_broker(3)
    cluster.recreate_topic("topic-00000", 2)
    assert content_of_kafka_python(kafka_python.describe_topics()) == content(cluster.state)


def test_kafka_python_describes_the_cluster(cluster: FakeCluster, kafka_python: Any) -> None:
    described = kafka_python.describe_cluster()
    assert described["cluster_id"] == cluster.state.cluster_id


# What is asked for.


def ask(cluster: FakeCluster, request: Any, version: int | None = None, node_id: int = 1) -> Any:
    async def work() -> Any:
        async with await Connection.open(cluster.endpoint(node_id)) as connection:
            return await connection.send(request, version=version)

    return asyncio.run(work())


@pytest.mark.parametrize("version", MetadataRequest.versions)
def test_topics_can_be_asked_for_all_some_or_none(cluster: FakeCluster, version: int) -> None:
    everything = MetadataRequest(topics=() if version == 0 else None)
    assert [topic.name for topic in ask(cluster, everything, version).topics] == list(cluster.state.topics)
    some = MetadataRequest(topics=(MetadataRequestTopic(name="topic-00007"), MetadataRequestTopic(name="nosuch")))
    found, missing = ask(cluster, some, version).topics
    assert (found.name, found.error_code, len(found.partitions)) == ("topic-00007", 0, 5)
    assert (missing.name, missing.error_code, missing.partitions) == ("nosuch", 3, ())
    if version > 0:
        answer = ask(cluster, MetadataRequest(topics=()), version)
        assert (answer.topics, len(answer.brokers)) == ((), 3)


def test_topics_can_be_asked_for_by_id(cluster: FakeCluster) -> None:
    known = cluster.state.topics["topic-00007"].topic_id
    cluster.delete_topics("topic-00008")
    asked = [
        MetadataRequestTopic(topic_id=known, name=None),
        MetadataRequestTopic(topic_id=type(known)(int=1), name=None),
    ]
    found, missing = ask(cluster, MetadataRequest(topics=tuple(asked))).topics
    assert found == cluster.state.topics["topic-00007"]
    assert (missing.name, missing.error_code) == (None, 100)


@pytest.mark.parametrize("version", [10, 11])
def test_before_version_12_a_request_with_an_id_is_refused_whole(cluster: FakeCluster, version: int) -> None:
    known = cluster.state.topics["topic-00007"].topic_id
    asked = [MetadataRequestTopic(topic_id=known, name=None), MetadataRequestTopic(name="topic-00007")]
    answer = ask(cluster, MetadataRequest(topics=tuple(asked)), version)
    assert [(each.name, each.topic_id, each.error_code, each.partitions) for each in answer.topics] == [
        ("", known, 42, ()),
        ("topic-00007", type(known)(int=0), 42, ()),
    ]
    assert (answer.brokers, answer.controller_id) == ((), -1)


def test_settings_are_told_as_brokers_tell_them(cluster: FakeCluster) -> None:
    cluster.set_config("retention.ms", "5", topic="topic-00000")
    cluster.set_config("retention.bytes", "6", topic="topic-00000")
    cluster.set_config("log.retention.ms", "7", broker=1)
    asked = [(2, "topic-00000", ("retention.ms",)), (2, "nosuch", None), (4, "1", None), (4, "2", None), (9, "x", None)]
    queries = [DescribeConfigsResource(resource_type=t, resource_name=n, configuration_keys=k) for t, n, k in asked]
    results = ask(cluster, DescribeConfigsRequest(resources=tuple(queries))).results
    assert [(each.error_code, [(entry.name, entry.value) for entry in each.configs]) for each in results] == [
        (0, [("retention.ms", "5")]),
        (3, []),
        (0, [("log.retention.ms", "7")]),
        (42, []),
        (42, []),
    ]


def test_kip_4_is_spoken_on_request() -> None:
    with FakeCluster(2, topics=["a", "b"], partitions=2, dialect="kip4") as cluster:
        cluster.shrink_isr("a", 0, 2)
        cluster.set_config("retention.ms", "5", topic="b")
        topics = ask(cluster, TopicMetadataRequest_V1(topic_names=())).topics
        assert [topic.topic_name for topic in topics] == ["a", "b"]
        first = topics[0].partitions[0]
        assert (first.leader, first.isr) == (1, (1,))
        assert [(each.replica_id, each.lag) for each in first.replicas_lag] == [(1, 0), (2, -1)]
        assert [(each.config_key, each.config_value) for each in topics[1].config_entries] == [("retention.ms", "5")]
        found, missing = ask(cluster, TopicMetadataRequest_V1(topic_names=("b", "nosuch"))).topics
        assert (found, missing.topic_error_code) == (topics[1], 3)
        answer = ask(cluster, ClusterMetadataRequest())
        assert answer.controller == answer.brokers[0]


# Words that brokers do not know.


def converse(cluster: FakeCluster, request: bytes) -> bytes:
    """What a broker answers to some bytes; empty when it ends the connection."""
    host, _, port = cluster.endpoint(1).partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(request)
        try:
            return client.recv(1 << 16)
        except ConnectionResetError:
            return b""


def test_an_unknown_version_of_api_versions_is_answered_in_version_0_with_error_35(cluster: FakeCluster) -> None:
    [answer] = Splitter().feed(converse(cluster, pack(">ihhihb", 11, 18, 99, 7, -1, 0)))
    read = frame.decode_response(answer, ApiVersionsResponse, version=0)
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
    ids=["version", "key", "body", "size", "web"],
)
def test_what_is_not_understood_ends_the_connection(cluster: FakeCluster, request_bytes: bytes) -> None:
    assert converse(cluster, request_bytes) == b""


# What brokers do when told to.


def test_requests_are_remembered(cluster: FakeCluster) -> None:
    ask(cluster, MetadataRequest(topics=None), version=5, node_id=2)
    assert cluster.requests(1) == []
    seen = cluster.requests(2)[-1]
    assert (seen.api_key, seen.version, seen.client_id) == (3, 5, "kwire")
    assert seen.message == MetadataRequest(topics=None)


def test_a_broker_may_lag_behind_the_others(cluster: FakeCluster) -> None:
    before = cluster.state
    cluster.freeze_metadata(2)
    cluster.create_topic("new")
    assert ask(cluster, MetadataRequest(topics=None), node_id=1) == cluster.state.metadata()
    assert ask(cluster, MetadataRequest(topics=None), node_id=2) == before.metadata()
    cluster.unfreeze_metadata(2)
    assert ask(cluster, MetadataRequest(topics=None), node_id=2) == cluster.state.metadata()


def test_a_stopped_broker_keeps_its_port(cluster: FakeCluster) -> None:
    endpoint = cluster.endpoint(2)
    cluster.stop_broker(2)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), timeout=10)
    assert [broker.node_id for broker in cluster.state.brokers] == [1, 3]
    cluster.start_broker(2)
    assert cluster.endpoint(2) == endpoint
    assert ask(cluster, MetadataRequest(topics=None), node_id=2) == cluster.state.metadata()


def test_what_is_told_to_go_wrong_is_forgotten_when_told(cluster: FakeCluster) -> None:
    cluster.misbehave(1, "close", times=None)
    cluster.misbehave(1, Misbehavior.GARBAGE, times=5)
    cluster.stop_misbehaving(1)
    assert ask(cluster, MetadataRequest(topics=None)) == cluster.state.metadata()


OF_KAFKA = [
    *((MetadataRequest(topics=topics), version) for topics in (None, ()) for version in (1, 8, 9, 11, 12, 13)),
    *((DescribeConfigsRequest(resources=()), version) for version in (1, 2, 3, 4)),
    *((DescribeClusterRequest(include_cluster_authorized_operations=False), version) for version in (0, 1, 2)),
]
OF_KIP_4 = [(TopicMetadataRequest_V1(topic_names=()), 1), (ClusterMetadataRequest(), 0)]


@pytest.mark.parametrize("topics", [0, 2])
@pytest.mark.parametrize(
    ("dialect", "request_message", "version"),
    [*(("kafka", *each) for each in OF_KAFKA), *(("kip4", *each) for each in OF_KIP_4)],
)
def test_another_version_is_never_what_was_asked_for(
    dialect: Literal["kafka", "kip4"], request_message: Any, version: int, topics: int
) -> None:
    with FakeCluster(1, topics=topics, dialect=dialect) as cluster:
        right = ask(cluster, request_message, version)
        cluster.misbehave(1, Misbehavior.WRONG_VERSION, api_key=None)
        asked = frame.encode_request(request_message, version=version, correlation_id=1)
        [answer] = Splitter().feed(converse(cluster, asked))
        try:
            read = frame.decode_response(answer, type(right), version=version).message
        except DecodeError:
            return
        assert read != right


def test_it_says_when_it_is_not_running() -> None:
    cluster = FakeCluster(1)
    with pytest.raises(RuntimeError, match="not running"):
        cluster.pause_broker(1)
    with cluster:
        pass
    cluster.close()


def test_it_is_started_once(cluster: FakeCluster) -> None:
    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "FakeCluster"]

    before = threads()
    with pytest.raises(RuntimeError, match="running already"):
        cluster.start()
    assert threads() == before
    cluster.close()
    with pytest.raises(RuntimeError, match="make another"):
        cluster.start()


def sockets_left_open_by(work: Callable[[], object]) -> list[str]:
    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
        gc.collect()
    return [str(warning.message) for warning in seen if warning.category is ResourceWarning]


def test_what_was_never_started_gives_its_ports_back_when_closed() -> None:
    assert sockets_left_open_by(lambda: FakeCluster(2).close()) == []


MISTAKES: dict[str, dict[str, Any]] = {
    "at least one is wanted, and each id once": {"brokers": 0},
    "each id once": {"brokers": [1, 1]},
    "dialect='x': a fake cluster speaks kafka or kip4": {"dialect": "x"},
    "there is a topic 'a' already": {"topics": ["a", "a"]},
    "partitions=-1: at least one": {"topics": 1, "partitions": -1},
    "a replication factor of 3 with 2 brokers": {"brokers": 2, "topics": 1, "replication_factor": 3},
    "a replication factor of 0": {"topics": 1, "replication_factor": 0},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_what_makes_no_cluster_is_refused_and_leaves_nothing_open(message: str) -> None:
    def work() -> None:
        with pytest.raises(ValueError, match=message):
            FakeCluster(**MISTAKES[message])

    assert sockets_left_open_by(work) == []


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
def test_a_broker_that_never_was_has_no_part_in_it(cluster: FakeCluster, change: Callable[[FakeCluster], None]) -> None:
    before = cluster.state
    with pytest.raises(ValueError, match="there is no broker 77: there are 1, 2, 3"):
        change(cluster)
    assert cluster.state is before


def test_names_given_twice_at_once_create_nothing(cluster: FakeCluster) -> None:
    before = cluster.state
    with pytest.raises(ValueError, match="'b'"):
        cluster.create_topics(["a", "b", "b"])
    assert cluster.state is before


@pytest.mark.parametrize("count", [0, -1])
def test_less_than_one_partition_is_refused_and_changes_nothing(cluster: FakeCluster, count: int) -> None:
    before = cluster.state
    for change in (cluster.create_topic, cluster.add_partitions, cluster.recreate_topic):
        with pytest.raises(ValueError, match=f"partitions={count}"):
            change("new" if change == cluster.create_topic else "topic-00000", count)
    assert cluster.state is before


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_between_nothing_and_all(cluster: FakeCluster, share: float) -> None:
    with pytest.raises(ValueError, match=f"share={share}"):
        cluster.move_random_leaders(share)
    assert len(cluster.move_random_leaders(1)) == 200
    assert len(cluster.move_random_leaders(0)) == 1
    cluster.delete_topics(*cluster.state.topics)
    assert cluster.move_random_leaders(1) == ()


@pytest.mark.parametrize("name", ["topic-00000", "new"])
def test_a_name_is_given_once(cluster: FakeCluster, name: str) -> None:
    cluster.create_topic("new", assignment=[(3, 2), (1,)])
    assert [each.replica_nodes for each in cluster.state.topics["new"].partitions] == [(3, 2), (1,)]
    with pytest.raises(ValueError, match=name):
        cluster.create_topic(name)
    with pytest.raises(ValueError, match=name):
        cluster.create_topic(name, assignment=[(1,)])
    with pytest.raises(KeyError):
        cluster.delete_topics("nosuch")
