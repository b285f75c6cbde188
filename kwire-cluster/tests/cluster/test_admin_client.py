"""The admin client on a cluster of real processes, with and without asyncio, and during controller changes."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import (
    AdminClient,
    AdminError,
    BlockingAdminClient,
    BrokerNotFound,
    ChangeTimeout,
    FeaturesRefused,
    FeatureUpdate,
    NewTopic,
    OutcomeUnknown,
    Progress,
    SafeLevel,
    TopicChange,
    TopicDescription,
)
from kwire.client.admin.feature_values import FinalizedFeature, SupportedFeature
from kwire.protocol.errors import ConnectionFault, Timeout
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cli.administration import Operator
from tests.cluster.consistency import wait_consistent, zookeeper
from tests.cluster.faults import controller_id, create
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOO_MANY = "(error 1004 INVALID_ARGUMENT_REPLICATION_FACTOR)"


@pytest.fixture(scope="module")
def empty_cluster(java: None) -> Iterator[LocalCluster]:
    settings = {"supported.features": "group_coordinator:1-3,transaction_coordinator:1-4"}
    with LocalCluster(nodes=3, settings=settings) as cluster:
        yield cluster


async def test_refused_topics_have_a_reason(empty_cluster: LocalCluster) -> None:
    async with await AdminClient.open(empty_cluster.bootstrap) as admin:
        outcomes = await admin.create_topics(
            {
                "wide": NewTopic(partitions=1, replication_factor=4),
                "twice": NewTopic(assignment={0: [1, 1]}),
                "odd": NewTopic(partitions=1, replication_factor=1, configs={"retention.sm": "1"}),
            }
        )
        moved = await admin.reassign_partitions({"nosuch": {0: [1]}})

    assert [str(error) for error in (*outcomes.errors.values(), *moved.errors.values())] == [
        f"wide: a replication factor of 4 needs as many live brokers, and there are 3 {TOO_MANY}",
        "twice: partition 0 names a broker twice: 1,1 (error 1005 INVALID_ARGUMENT_REPLICA_ASSIGNMENT)",
        "odd: unknown key or invalid value among the configs retention.sm=1 (error 1006 INVALID_ARGUMENT_TOPIC_CONFIG)",
        "nosuch: the topic does not exist, or has no partition 0 (error 3 UNKNOWN_TOPIC_OR_PARTITION)",
    ]


async def test_features_are_reported_by_a_broker_and_changed_together(empty_cluster: LocalCluster) -> None:
    """KIP-584: 'Represents a collection of feature metadata, along with the host:port of the broker serving the
    metadata', with 'the cluster-wide finalized value of the feature max version level', 'the set of features supported
    by a broker, keyed by feature name', and 'the monotonically increasing epoch for the finalized features'. A level
    below 1 'indicates the deletion of a finalized feature'.
    """
    async with await AdminClient.open(empty_cluster.bootstrap) as admin:
        described = await admin.describe_features()
        group, transaction = "group_coordinator", "transaction_coordinator"
        assert described.supported_features == {
            group: SupportedFeature(group, 1, 3),
            transaction: SupportedFeature(transaction, 1, 4),
        }
        assert described.finalized_features == {
            group: FinalizedFeature(group, 1, 3),
            transaction: FinalizedFeature(transaction, 1, 4),
        }
        assert (described.host, described.port) in {(node.host, node.port) for node in empty_cluster.nodes}

        updates = [FeatureUpdate(group, 2, allow_downgrade=True), FeatureUpdate("unknown", 1)]
        for compare_brokers in (True, False):
            with pytest.raises(FeaturesRefused) as refused:
                await admin.update_features(updates, compare_brokers=compare_brokers)
            error = refused.value.outcomes.errors["unknown"]
            assert ("by the brokers 1, 2, 3 (unknown there)" in error.text) is compare_brokers
            assert refused.value.item == "unknown"
            innocent = refused.value.outcomes.errors[group]  # it was not changed either, and is not the reason
            assert innocent.item == "unknown"
        unchanged = await admin.describe_features()
        assert (unchanged.epoch, unchanged.finalized_features) == (described.epoch, described.finalized_features)

        lowered = [FeatureUpdate(group, 0, allow_downgrade=True), FeatureUpdate(transaction, 3, allow_downgrade=True)]
        changed = await admin.update_features(lowered)
        await admin.wait_until_features({group: 0, transaction: 3})
        assert changed.finalized_features == (await admin.describe_features()).finalized_features
        assert changed.finalized_features == {transaction: FinalizedFeature(transaction, 1, 3)}
        assert changed.epoch == described.epoch + 1
        assert changed.supported_features == described.supported_features

        # Up and down in one request, each with its own flag; without the flag, a lower level is refused.
        with pytest.raises(FeaturesRefused, match=transaction):
            await admin.update_features([FeatureUpdate(group, 2), FeatureUpdate(transaction, 2)])
        both = await admin.update_features([FeatureUpdate(group, 2), FeatureUpdate(transaction, 2, True)])
        assert {name: both.level(name) for name in (group, transaction)} == {group: 2, transaction: 2}
        assert both.epoch == changed.epoch + 1
        levels = {change.name: (change.old, change.new) for change in await admin.recorded_config_changes(1)}
        assert levels == {group: (None, "2"), transaction: ("3", "2")}
        assert await admin.lowest_safe_level(transaction) == SafeLevel(0, None)


async def test_every_operation(empty_cluster: LocalCluster) -> None:
    async with await AdminClient.open(empty_cluster.bootstrap) as admin:
        description = await admin.describe_cluster()
        assert [broker.id for broker in description.brokers] == [1, 2, 3]
        assert description.controller in description.brokers

        new = NewTopic(assignment={0: [1, 2], 1: [2, 3]}, configs={"retention.ms": "1000"})
        outcomes = await admin.create_topics({"t": new, "no name": NewTopic(partitions=1, replication_factor=1)})
        assert outcomes["t"] is None
        assert outcomes.errors["no name"].code == 1010
        with pytest.raises(AdminError, match="no name"):
            outcomes.raise_first()
        await admin.wait_until_created({"t": 2})
        assert await admin.list_topics() == ["t"]

        (await admin.alter_topics({"t": TopicChange(partitions=3, set_configs={"retention.ms": "7"})})).raise_first()
        await admin.wait_until_created({"t": 3})
        described = await admin.describe_topics(["t", "nosuch"])
        assert isinstance(described["nosuch"], AdminError)
        assert described["nosuch"].code == 3

        to = {"t": {0: [3, 1]}}
        (await admin.reassign_partitions(to)).raise_first()
        await admin.wait_until_reassigned(to)
        [status] = await admin.list_reassignments(to)
        assert (status.topic, dict(status.partitions)) == ("t", {0: "completed"})
        assert await admin.list_reassignments() == []

        (await admin.elect_leaders()).raise_first()
        await admin.wait_until_preferred()
        topic = (await admin.describe_topics())["t"]
        assert not isinstance(topic, AdminError)
        assert topic.partitions[0].replicas == (3, 1)
        assert [partition.leader for partition in topic.partitions] == [
            partition.replicas[0] for partition in topic.partitions
        ]
        assert topic.configs == {"retention.ms": "7"}

        assert (await admin.run_tool("status", broker_id=2)).exit_status == 0
        with pytest.raises(AdminError, match=r"the tools are .*config, .*help, .*status"):
            await admin.run_tool("nosuch")
        with pytest.raises(BrokerNotFound, match="no live broker has the id 9"):
            await admin.run_tool("status", broker_id=9)

        (await admin.delete_topics(["t"])).raise_first()
        await admin.wait_until_deleted(["t"])
        assert await admin.list_topics() == []


def test_blocking_client_skips_dead_brokers(empty_cluster: LocalCluster) -> None:
    with BlockingAdminClient(f"127.0.0.1:1,127.0.0.1:2,{empty_cluster.bootstrap}") as admin:
        admin.create_topics({"b": NewTopic(partitions=2, replication_factor=3)}).raise_first()
        seen: list[Progress] = []
        admin.wait_until_created({"b": 2}, on_progress=seen.append)
        assert seen[-1] == Progress(3, 3)
        admin.delete_topics(["b"]).raise_first()
        admin.wait_until_deleted(["b"])


names_as_a_string = pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.delete_topics("xyz"),
        lambda admin: admin.describe_topics("xyz"),
        lambda admin: admin.alter_topics({"x": TopicChange(delete_configs="xyz")}),
        lambda admin: admin.run_tool("status", "xyz"),
        lambda admin: admin.wait_until_created("xyz"),
        lambda admin: admin.wait_until_deleted("xyz"),
    ],
    ids=["delete", "describe", "alter", "run_tool", "created", "deleted"],
)


@names_as_a_string
async def test_string_is_not_accepted_as_a_list_of_names(
    call: Callable[[Any], Any], empty_cluster: LocalCluster
) -> None:
    async with await AdminClient.open(empty_cluster.bootstrap) as admin:
        with pytest.raises(TypeError, match=r"not one: write \['xyz'\]"):
            await call(admin)


@names_as_a_string
def test_blocking_client_does_not_accept_a_string_as_a_list_of_names(
    call: Callable[[Any], Any], empty_cluster: LocalCluster
) -> None:
    with (
        BlockingAdminClient(empty_cluster.bootstrap) as admin,
        pytest.raises(TypeError, match=r"not one: write \['xyz'\]"),
    ):
        call(admin)


def test_wait_until_created_accepts_any_mapping(empty_cluster: LocalCluster) -> None:
    with BlockingAdminClient(empty_cluster.bootstrap) as admin:
        new = {"m": NewTopic(partitions=2, replication_factor=1)}
        admin.create_topics(new).raise_first()
        admin.wait_until_created(new)
        admin.wait_until_created(MappingProxyType({"m": 2}))
        for timeout in (0, -1):  # the brokers are asked once
            admin.wait_until_created({"m": 2}, timeout=timeout)
            with pytest.raises(ChangeTimeout, match="not created: broker 1: m has 2 partitions instead of 3"):
                admin.wait_until_created({"m": 3}, timeout=timeout)
        with pytest.raises(TypeError, match="expected a number of partitions or a NewTopic, got '2'"):
            admin.wait_until_created({"m": "2"})
        with pytest.raises(ChangeTimeout, match="m has 2 partitions instead of 3"):
            admin.wait_until_created(MappingProxyType({"m": 3}), timeout=5)
        admin.delete_topics(["m"]).raise_first()
        admin.wait_until_deleted(["m"])


def test_unreachable_cluster_fails_in_time() -> None:
    started = time.monotonic()
    with pytest.raises(ConnectionFault, match=r"127\.0\.0\.1:1"):
        BlockingAdminClient("127.0.0.1:1", timeout=0.5)
    assert time.monotonic() - started < 20, "it takes as long as without a timeout"


def test_timeout_reports_what_each_broker_lacks(empty_cluster: LocalCluster) -> None:
    with BlockingAdminClient(empty_cluster.bootstrap) as admin, pytest.raises(ChangeTimeout) as raised:
        admin.wait_until_created(["never"], timeout=5)
    assert raised.value.missing == {f"broker {broker_id}": ["never does not exist"] for broker_id in (1, 2, 3)}
    assert "not created within 5 s: broker 1: never does not exist" in str(raised.value)


def test_requests_find_the_next_controller(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """The connection breaks, no broker is controller for a while, then another one responds."""
    for turn in range(2):
        victim = controller_id(admin)
        admin.list_topics()
        cluster.kill_node(victim)
        name = f"across-{turn}-{time.monotonic_ns()}"
        new = {name: NewTopic(partitions=2, replication_factor=2)}
        try:
            create(admin, new)
        except OutcomeUnknown:  # sent before the client noticed the end of the connection
            create(admin, new)
        assert controller_id(admin) != victim
        cluster.start_node(victim)
        admin.wait_until_created({name: 2})
    wait_consistent(cluster)


def test_request_to_a_former_controller_is_retried(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """The former controller responds with 22, and the client looks for the new one."""
    admin.describe_cluster()
    with zookeeper(cluster) as client:
        client.delete("/controller")
    name = f"after-22-{time.monotonic_ns()}"
    create(admin, {name: NewTopic(partitions=1, replication_factor=3)})
    admin.wait_until_created({name: 1})
    wait_consistent(cluster)


@pytest.mark.usefixtures("java")
def test_timeout_names_the_controller_that_does_not_answer() -> None:
    with (
        LocalCluster(nodes=1, session_timeout=30.0) as cluster,
        BlockingAdminClient(cluster.bootstrap, timeout=5.0) as admin,
    ):
        cluster.zookeeper.kill()
        with pytest.raises(OutcomeUnknown) as raised:
            admin.create_topics({"t": NewTopic(partitions=1, replication_factor=1)})
        [node] = cluster.nodes
        assert isinstance(raised.value.fault, Timeout)
        assert raised.value.fault.endpoint.port == node.port


@pytest.mark.usefixtures("java")
async def test_values_show_a_dead_broker() -> None:
    with LocalCluster(nodes=2) as cluster:
        operator = Operator(cluster.bootstrap)
        async with await AdminClient.open(cluster.bootstrap) as admin:
            controller = (await admin.describe_cluster()).controller
            assert controller is not None
            alive, dead = controller.id, 3 - controller.id
            new = {name: NewTopic(assignment={0: [dead, alive]}) for name in ("kept", "doomed")}
            (await admin.create_topics(new)).raise_first()
            await admin.wait_until_created(["kept", "doomed"])
            assert await admin.list_topics_marked_for_deletion() == []
            cluster.kill_node(dead)

            async def elected() -> Any:
                topic = (await admin.describe_topics(["kept"]))["kept"]
                return (
                    isinstance(topic, TopicDescription) and topic.partitions[0].leader == alive and topic.partitions[0]
                )

            partition: Any = await eventually(elected, "the other broker leads")
            assert (partition.replicas, partition.isr) == ((dead, alive), (alive,))
            assert partition.lag == {dead: None, alive: 0}

            (await admin.delete_topics(["doomed"])).raise_first()
            assert await admin.list_topics_marked_for_deletion() == ["doomed"], "the deletion waits for the dead broker"
        problems = {(row["problem"], row["name"]) for row in operator.json("cluster", "health", code=6)}
        assert {("under-replicated", "kept"), ("deletion-pending", "doomed")} <= problems
