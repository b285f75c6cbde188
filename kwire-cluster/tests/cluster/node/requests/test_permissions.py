"""Every API with and without the permissions that it requires, on real nodes over real sockets."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kwire import frame
from kwire.messages.kafka.envelope import EnvelopeRequest
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.describe_topic import DescribeTopicRequest
from kwire.messages.kip4.list_topics import ListTopicsRequest, ListTopicsResponse
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip4.verify_reassign_partitions import VerifyReassignPartitionsRequest
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from kwire.messages.kip584.update_features import UpdateFeaturesRequest
from kwire_cluster.node.requests import apis
from kwire_cluster.node.requests.apis import served_requests
from tests.cluster.node.access_control import ACL_AUTHORIZER, LOCAL, allow, change_acls, make_acls, write_acls
from tests.cluster.node.nodes import new_root, nodes, send
from tests.cluster.node.requests.test_error_codes import alteration, creation, election, move
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import TypeAlias

    from kwire.authorization.acl_entries import AclEntry, ResourceType
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    Needed: TypeAlias = tuple[ResourceType, str]
    """A type of resource, and an operation."""

CLIENT = "127.0.0.2"
"""The host of the client; nodes connect from 127.0.0.1."""
TOPIC_DENIED = 29
CLUSTER_DENIED = 31
FAILED = 21
"""The code of messages about one topic, whatever the reason."""


class Case(NamedTuple):
    """A request, the code of its denial, and the operations that must be allowed for it to succeed."""

    request: Any
    denial: int
    needed: tuple[Needed, ...]
    version: int | None = None


def tool(name: str, *arguments: str) -> AdminRequest:
    return AdminRequest(tool=name, arguments=arguments)


def alter(**changes: Any) -> AlterTopicRequest_V2:
    return AlterTopicRequest_V2(topics=(alteration("existing", **changes),))


RETENTION = (ConfigEntry(config_key="retention.ms", config_value="1"),)
SAME_PLACE = (PartitionReplicas(partition_id=0, replica_ids=(1,)),)
CLUSTER_ACTION: Needed = ("Cluster", "ClusterAction")
ALTER: Needed = ("Cluster", "Alter")
DESCRIBE: Needed = ("Cluster", "Describe")

FORWARDED = EnvelopeRequest(
    request_data=frame.encode_request(ListTopicsRequest(), version=1, correlation_id=5)[4:],
    request_principal=b"User:ANONYMOUS",
    client_host_address=bytes((127, 0, 0, 1)),
)

CASES: dict[str, Case] = {
    "create_topic": Case(creation("new"), TOPIC_DENIED, (("Topic", "Create"),)),
    "create_topic, any": Case(creation("new"), TOPIC_DENIED, (("Cluster", "Create"),)),
    "create_topic, one": Case(
        CreateTopicRequest(topic_name="new", partitions=1, replicas=1), FAILED, (("Topic", "Create"),)
    ),
    "alter_topic, partitions": Case(alter(partitions=2), TOPIC_DENIED, (("Topic", "Alter"),)),
    "alter_topic, configs": Case(alter(added_config_entries=RETENTION), TOPIC_DENIED, (("Topic", "AlterConfigs"),)),
    "alter_topic, both": Case(
        alter(partitions=2, added_config_entries=RETENTION),
        TOPIC_DENIED,
        (("Topic", "Alter"), ("Topic", "AlterConfigs")),
    ),
    "alter_topic, replicas": Case(
        alter(replica_assignment=SAME_PLACE), CLUSTER_DENIED, (("Topic", "Alter"), ("Cluster", "Alter"))
    ),
    "alter_topic, one": Case(AlterTopicRequest(topic_name="existing", partitions=2), FAILED, (("Topic", "Alter"),)),
    "delete_topic": Case(DeleteTopicRequest_V2(topic_names=("existing",)), TOPIC_DENIED, (("Topic", "Delete"),)),
    "delete_topic, one": Case(DeleteTopicRequest(topic_name="existing"), FAILED, (("Topic", "Delete"),)),
    "describe_topic": Case(DescribeTopicRequest(topic_name="existing"), FAILED, (("Topic", "Describe"),)),
    "topic_metadata": Case(
        TopicMetadataRequest_V1(topic_names=("existing",)), TOPIC_DENIED, (("Topic", "Describe"),), 1
    ),
    "topic_metadata, 0": Case(TopicMetadataRequest(topic_names=("existing",)), TOPIC_DENIED, (("Topic", "Write"),), 0),
    "preferred_replica_leader_election": Case(election("existing", 0), CLUSTER_DENIED, (ALTER,)),
    "reassign_partitions": Case(move("existing", 1), CLUSTER_DENIED, (ALTER,)),
    "verify_reassign_partitions": Case(
        VerifyReassignPartitionsRequest(topics=move("existing", 1).topics), 31, (DESCRIBE,)
    ),
    "envelope": Case(FORWARDED, CLUSTER_DENIED, (CLUSTER_ACTION,)),
    "update_features": Case(UpdateFeaturesRequest(feature_updates=()), CLUSTER_DENIED, (ALTER,)),
    "update_metadata": Case(
        UpdateMetadataRequest(controller_id=1, controller_epoch=0, topic_states=(), live_brokers=()),
        CLUSTER_DENIED,
        (CLUSTER_ACTION,),
    ),
    "admin, help": Case(tool("help"), CLUSTER_DENIED, (DESCRIBE,)),
    "admin, status": Case(tool("status"), CLUSTER_DENIED, (DESCRIBE,)),
    "admin, controlled-shutdown": Case(tool("controlled-shutdown", "1", "-1"), CLUSTER_DENIED, (CLUSTER_ACTION,)),
    "admin, full-metadata": Case(tool("full-metadata", "1"), CLUSTER_DENIED, (CLUSTER_ACTION,)),
    "admin, unknown": Case(tool("nosuch"), CLUSTER_DENIED, (ALTER,)),
    "admin, config describe": Case(tool("config", "describe"), CLUSTER_DENIED, (("Cluster", "DescribeConfigs"),)),
    "admin, config usage": Case(tool("config", "nosuch"), CLUSTER_DENIED, (DESCRIBE,)),
    "admin, config export": Case(tool("config", "export"), CLUSTER_DENIED, (("Cluster", "AlterConfigs"),)),
    "admin, config audit": Case(tool("config", "audit"), CLUSTER_DENIED, (("Cluster", "DescribeConfigs"),)),
    "admin, config diff": Case(tool("config", "diff", "{}"), CLUSTER_DENIED, (("Cluster", "DescribeConfigs"),)),
    "admin, config apply": Case(tool("config", "apply", "{}"), CLUSTER_DENIED, (("Cluster", "AlterConfigs"),)),
    "admin, config rehearsal": Case(
        tool("config", "apply", "--dry-run", "{}"), CLUSTER_DENIED, (("Cluster", "DescribeConfigs"),)
    ),
    "admin, config set": Case(
        tool("config", "set", "num.partitions=2"), CLUSTER_DENIED, (("Cluster", "AlterConfigs"),)
    ),
    "admin, config delete": Case(
        tool("config", "delete", "num.partitions"), CLUSTER_DENIED, (("Cluster", "AlterConfigs"),)
    ),
    "admin, config of a topic": Case(
        tool("config", "set", "--topic", "existing", "retention.ms=1"), TOPIC_DENIED, (("Topic", "AlterConfigs"),)
    ),
}
LISTS = {"list_topics"}
"""APIs that leave out topics instead of denying a request; tested below."""
NAMES = {"Topic": "existing", "Cluster": "kafka-cluster"}


def code_of(response: Any) -> int:
    """Return the code of a response, or of its only topic."""
    topics = getattr(response, "topics", ())
    if not topics:
        return int(response.error_code)
    [topic] = topics
    return int(topic.topic_error_code if hasattr(topic, "topic_error_code") else topic.error_code)


@asynccontextmanager
async def guarded(server: EmbeddedZooKeeper) -> AsyncIterator[tuple[str, Node]]:
    """Start a node with an authorizer, and create a topic. Only clients at 127.0.0.1 are super users, by entries."""
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Cluster", "kafka-cluster", LOCAL)
    await write_acls(zookeeper, "Topic", "*", LOCAL)
    async with nodes(zookeeper, 1, authorizer=ACL_AUTHORIZER) as [node]:
        assert code_of(await send(node, creation("existing"))) == 0
        await eventually(lambda: "existing" in node.metadata.topics)
        yield zookeeper, node


async def code_for_client(node: Node, case: Case) -> int:
    return code_of(await send(node, case.request, version=case.version, from_host=CLIENT))


def test_every_api_declares_its_permissions_and_has_a_case() -> None:
    guarded_apis = {name for name in served_requests().values() if import_module(f"{apis.__name__}.{name}").PERMISSIONS}

    assert {name.partition(",")[0] for name in CASES} | LISTS == guarded_apis
    assert set(served_requests().values()) - guarded_apis == {
        "api_versions",
        "cluster_metadata",
        "sasl_authenticate",
        "sasl_handshake",
    }


@pytest.mark.parametrize("name", CASES)
async def test_request_needs_its_permissions(name: str, server: EmbeddedZooKeeper) -> None:
    case = CASES[name]
    async with guarded(server) as (zookeeper, node):
        granted: dict[ResourceType, list[AclEntry]] = {"Topic": [], "Cluster": []}
        for resource_type, operation in case.needed:
            assert await code_for_client(node, case) in {case.denial, TOPIC_DENIED}
            granted[resource_type].append(allow(operation, host=CLIENT))
            resource = "new" if operation == "Create" and resource_type == "Topic" else NAMES[resource_type]
            await change_acls(node, zookeeper, resource_type, resource, LOCAL, *granted[resource_type])
        # An unknown tool, and an epoch that differs from the broker's, fail for another reason than a permission.
        failing = {"admin, unknown": {FAILED}, "admin, controlled-shutdown": {FAILED}, "update_features": {42}}
        expected = failing.get(name, {0, 11})
        assert await code_for_client(node, case) in expected


async def test_lists_leave_out_what_the_client_cannot_describe(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (zookeeper, node):
        assert code_of(await send(node, creation("hidden"))) == 0
        await eventually(lambda: {"existing", "hidden"} <= set(node.metadata.topics))

        async def seen() -> list[set[str]]:
            listed = await send(node, ListTopicsRequest(), version=1, from_host=CLIENT)
            described = await send(node, TopicMetadataRequest_V1(topic_names=()), version=1, from_host=CLIENT)
            return [set(listed.topics_list.topic_names), {topic.topic_name for topic in described.topics}]

        assert await seen() == [set(), set()]
        await change_acls(node, zookeeper, "Topic", "existing", allow("Read", host=CLIENT))
        assert await seen() == [{"existing"}, {"existing"}]


async def test_denied_topic_looks_the_same_whether_it_exists_or_not(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (_, node):
        request = TopicMetadataRequest_V1(topic_names=("existing", "missing"))
        response = await send(node, request, version=1, from_host=CLIENT)
        texts = [
            (await send(node, DescribeTopicRequest(topic_name=name), from_host=CLIENT)).error_description
            for name in ("existing", "missing")
        ]

    assert [(topic.topic_error_code, topic.partitions) for topic in response.topics] == [(29, ()), (29, ())]
    assert texts[0].replace("existing", "missing") == texts[1]


async def test_forwarded_request_has_the_permissions_of_its_sender(server: EmbeddedZooKeeper) -> None:
    def envelope(request: Any, host: bytes, principal: bytes | None = b"User:ANONYMOUS") -> EnvelopeRequest:
        data = frame.encode_request(request, version=max(request.versions), correlation_id=9)[4:]
        return EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=host)

    def topics(response: Any) -> tuple[str, ...]:
        inner = frame.decode_response(response.response_data, ListTopicsResponse, version=1)
        assert inner.correlation_id == 9
        listed = inner.message.topics_list
        return () if listed is None else tuple(listed.topic_names)

    super_user, client = bytes((127, 0, 0, 1)), bytes((127, 0, 0, 2))
    async with guarded(server) as (zookeeper, node):
        assert topics(await send(node, envelope(ListTopicsRequest(), super_user))) == ("existing",)
        assert topics(await send(node, envelope(ListTopicsRequest(), client))) == ()
        mapped = bytes(10) + b"\xff\xff" + client
        assert topics(await send(node, envelope(ListTopicsRequest(), mapped))) == ()
        await change_acls(node, zookeeper, "Topic", "existing", allow("Describe", "User:alice", CLIENT))
        assert topics(await send(node, envelope(ListTopicsRequest(), client, b"User:alice"))) == ("existing",)

        rows: list[tuple[EnvelopeRequest, int]] = [
            (envelope(ListTopicsRequest(), client, None), 97),
            (envelope(ListTopicsRequest(), client, b"\xff"), 97),
            (envelope(ListTopicsRequest(), b"123"), 97),
            (envelope(FORWARDED, super_user), 42),
            (replace(FORWARDED, request_data=b""), 42),
            (replace(FORWARDED, request_data=bytes(40)), 42),
        ]
        for request, code in rows:
            response = await send(node, request)
            assert (response.error_code, response.response_data is None) == (code, code != 0)


async def test_part_of_a_batch_is_denied(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (zookeeper, node):
        await change_acls(node, zookeeper, "Topic", "mine", allow("Delete", host=CLIENT))
        request = DeleteTopicRequest_V2(topic_names=("existing", "mine", "existing"))
        response = await send(node, request, from_host=CLIENT)

    assert [(one.topic_name, one.error_code) for one in response.topics] == [("existing", 29), ("mine", 3)]


async def test_unknown_topic_is_created_only_with_permission(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (zookeeper, node):
        await change_acls(node, zookeeper, "Topic", "auto", allow("Describe", host=CLIENT))
        request = TopicMetadataRequest(topic_names=("auto",))
        assert code_of(await send(node, request, version=0, from_host=CLIENT)) == TOPIC_DENIED
        assert "auto" not in node.metadata.topics
        await change_acls(
            node, zookeeper, "Topic", "auto", allow("Describe", host=CLIENT), allow("Create", host=CLIENT)
        )
        assert code_of(await send(node, request, version=0, from_host=CLIENT)) == 5
        await eventually(lambda: "auto" in node.metadata.topics)


async def test_cache_never_serves_the_response_of_another_subject(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (_, node):
        request = TopicMetadataRequest_V1(topic_names=("existing",))
        hosts = [None, CLIENT] * 3
        codes = [code_of(await send(node, request, request, version=1, from_host=host)) for host in hosts]

    assert codes == [0, TOPIC_DENIED] * 3


async def test_everybody_may_ask_for_versions_and_brokers(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (_, node):
        versions = await send(node, ApiVersionsRequest(), from_host=CLIENT)
        brokers = await send(node, ClusterMetadataRequest(), from_host=CLIENT)

    assert versions.error_code == brokers.error_code == 0
    assert [broker.node_id for broker in brokers.brokers] == [1]


async def test_malformed_entries_close_a_topic(server: EmbeddedZooKeeper) -> None:
    async with guarded(server) as (zookeeper, node):
        request = TopicMetadataRequest_V1(topic_names=("existing",))
        assert code_of(await send(node, request, version=1)) == 0
        await change_acls(node, zookeeper, "Topic", "existing", data=b"{}")
        assert code_of(await send(node, request, version=1)) == TOPIC_DENIED
        await change_acls(node, zookeeper, "Topic", "existing")
        assert code_of(await send(node, request, version=1)) == 0


async def test_nodes_need_cluster_action(server: EmbeddedZooKeeper) -> None:
    """The controller and another node work together if they may, and the log says why if not."""
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    await write_acls(zookeeper, "Cluster", "kafka-cluster", allow("ClusterAction", host="127.0.0.1"))
    async with nodes(zookeeper, 1, 2, authorizer=ACL_AUTHORIZER) as (controller, other):
        assert controller.metadata.brokers == other.metadata.brokers


async def test_super_user_needs_no_entries(server: EmbeddedZooKeeper) -> None:
    super_users = frozenset({"User:ANONYMOUS"})
    async with nodes(await new_root(server), 1, 2, authorizer=ACL_AUTHORIZER, super_users=super_users) as (node, _):
        assert code_of(await send(node, creation("new"), from_host=CLIENT)) == 0


async def test_everybody_is_allowed_without_entries_if_so_configured(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, authorizer=ACL_AUTHORIZER, allow_if_no_acl=True) as [node]:
        assert code_of(await send(node, creation("new"), from_host=CLIENT)) == 0
