"""ACLs of real clusters with an authorizer, through the command and through the admin client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    PatternType,
    ResourceType,
)
from tests.cli.administration import Operator

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import Kafka44, KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

pytestmark = pytest.mark.change


def read_of_alice(**changes: str) -> dict[str, str]:
    """Return an ACL as the command prints it."""
    return {
        "resource_type": "TOPIC",
        "resource_name": "acl-orders",
        "pattern_type": "LITERAL",
        "principal": "User:alice",
        "host": "*",
        "operation": "READ",
        "permission_type": "ALLOW",
    } | changes


def test_command_adds_lists_and_deletes_acls(
    secured_operator: Operator, secured: KafkaCluster, security: ClusterSecurity, tmp_path: Path
) -> None:
    operator = secured_operator
    alice = Operator(secured.bootstrap, security.write_properties(tmp_path / "alice.properties", "PLAIN", user="alice"))
    operator.json("topics", "create", "acl-orders", "-p", "1", "-r", "1")
    assert alice.json("topics", "list", "acl-*") == []
    blind = alice.json("cluster", "health", code=6)
    assert {row["problem"] for row in blind} == {"nothing-visible", "not-checked"}
    unchecked = " ".join(row["details"] for row in blind if row["problem"] == "not-checked")
    assert "this needs Describe on the cluster" in unchecked
    assert operator.json("cluster", "health") == []

    add = ("acls", "add", "topic:acl-orders", "group:acl-billing", "--principal", "User:alice", "--operation", "read")
    expected = [read_of_alice(), read_of_alice(resource_type="GROUP", resource_name="acl-billing")]
    assert operator.json(*add, "--dry-run") == [{**row, "status": "would be added"} for row in expected]
    assert operator.json("acls", "list", "topic", "group") == []
    assert operator.json(*add) == [{**row, "status": "added"} for row in expected]
    assert operator.json(*add) == [{**row, "status": "exists"} for row in expected], "a repetition is a success"
    assert [row["status"] for row in operator.json(*add, "--dry-run")] == ["exists", "exists"]
    assert [row["name"] for row in alice.json("topics", "list", "acl-*")] == ["acl-orders"]
    partial = alice.run("cluster", "health")
    assert (partial.code, "only the 1 topic that this user may describe is checked" in partial.err) == (0, True)
    for noun in (("topics", "describe", "--only", "under-replicated"), ("transactions", "find-hanging")):
        assert "that this user may describe is checked" in alice.run(*noun).err, noun

    operator.json("acls", "add", "topic:acl-", "--prefixed", "--deny", "--principal", "User:bob", "--operation", "ALL")
    denied = read_of_alice(
        resource_name="acl-", pattern_type="PREFIXED", principal="User:bob", operation="ALL", permission_type="DENY"
    )
    assert operator.json("acls", "list", "topic") == [denied, read_of_alice()]
    assert operator.json("acls", "list", "topic:acl-orders") == [read_of_alice()]
    assert operator.json("acls", "list", "topic:acl-orders", "--pattern-type", "match") == [denied, read_of_alice()]
    assert operator.json("acls", "list", "--permission-type", "deny") == [denied]

    refused = alice.run("acls", "list")
    assert (refused.code, refused.out) == (4, "")
    assert "CLUSTER_AUTHORIZATION_FAILED" in refused.err

    bob = ("acls", "delete", "--principal", "User:bob")
    assert operator.json(*bob, "--dry-run") == [{**denied, "status": "would be deleted"}]
    unconfirmed = operator.run(*bob)
    assert unconfirmed.code == 2
    assert "Delete 1 ACL (DENY ALL on PREFIXED TOPIC acl- for User:bob from *)? Confirm with --yes" in unconfirmed.err
    assert operator.json(*bob, "--yes") == [{**denied, "status": "deleted"}]
    assert operator.json("acls", "list") == [*reversed(expected)]
    operator.json("acls", "delete", "--all", "--yes")
    assert operator.json("acls", "list") == []
    operator.json("topics", "delete", "acl-orders", "--yes")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["add", "topics:x", "--principal", "User:a", "--operation", "READ"], "'topics:x' is not a resource"),
        (
            ["add", "topic", "--principal", "User:a", "--operation", "READ"],
            "'topic' is not a resource with a name",
        ),
        (["add", "topic:x", "--principal", "alice", "--operation", "READ"], "'alice' is not a principal"),
        (["add", "topic:x", "--principal", "User:a", "--operation", "ANY"], "'ANY' is not one of 'all', 'read'"),
        (["add", "topic:x", "--principal", "User:a", "--operation", "create_tokens"], "cannot have the operation"),
        (["delete", "--yes"], "give at least one of TYPE:NAME, --principal"),
    ],
)
def test_wrong_arguments_are_named(kafka44: Kafka44, arguments: list[str], sentence: str) -> None:
    run = Operator(kafka44.bootstrap).run("acls", *arguments)

    assert (run.code, run.out) == (2, "")
    assert sentence in run.err


def test_cluster_without_authorizer_is_named(cluster: KafkaCluster) -> None:
    run = Operator(cluster.bootstrap).run("acls", "list")

    assert (run.code, run.out) == (1, "")
    assert "SECURITY_DISABLED" in run.err


async def test_client_reports_the_result_of_each_item(secured: KafkaCluster, security: ClusterSecurity) -> None:
    write = AclBinding(
        resource_type=ResourceType.TRANSACTIONAL_ID,
        resource_name="payments",
        principal="User:carol",
        host="127.0.0.1",
        operation=AclOperation.WRITE,
    )
    invalid = AclBinding(
        resource_type=ResourceType.CLUSTER,
        resource_name="other",
        principal="User:carol",
        operation=AclOperation.ALL,
        permission_type=AclPermissionType.DENY,
        pattern_type=PatternType.LITERAL,
    )
    async with await AdminClient.open(secured.bootstrap, config=security.config()) as admin:
        outcomes = await admin.create_acls([write, invalid])
        assert outcomes[str(write)] is None
        assert outcomes.errors[str(invalid)].name == "INVALID_REQUEST"
        await admin.wait_until_acls(created=[write])
        of_carol = AclBindingFilter(principal="User:carol")
        assert await admin.describe_acls(of_carol) == [write]
        nothing = AclBindingFilter(principal="User:dave")
        assert await admin.delete_acls([of_carol, nothing]) == {of_carol: {write: None}, nothing: {}}
        await admin.wait_until_acls(deleted=[write])
        assert await admin.describe_acls(of_carol) == []


async def test_filters_match_as_brokers_decide(secured: KafkaCluster, security: ClusterSecurity) -> None:
    """`AclBindingFilter.matches`, which a client of nodes uses, is compared with what a broker returns."""
    resources = [
        (ResourceType.TOPIC, "match-a", PatternType.LITERAL),
        (ResourceType.TOPIC, "match-", PatternType.PREFIXED),
        (ResourceType.TOPIC, "*", PatternType.LITERAL),
        (ResourceType.GROUP, "match-a", PatternType.LITERAL),
    ]
    acls = [
        AclBinding(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern,
            principal="User:match",
            host=host,
            operation=operation,
            permission_type=permission,
        )
        for kind, name, pattern in resources
        for host in ("*", "127.0.0.1")
        for operation, permission in (
            (AclOperation.READ, AclPermissionType.ALLOW),
            (AclOperation.ALL, AclPermissionType.DENY),
        )
    ]
    filters = [
        AclBindingFilter(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern,
            principal="User:match",
            host=host,
            operation=operation,
            permission_type=permission,
        )
        for kind in (ResourceType.ANY, ResourceType.TOPIC)
        for name in (None, "match-a", "match-", "*", "other")
        for pattern in (PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED)
        for host in (None, "*")
        for operation, permission in (
            (AclOperation.ANY, AclPermissionType.ANY),
            (AclOperation.READ, AclPermissionType.ANY),
            (AclOperation.ANY, AclPermissionType.DENY),
        )
    ]
    async with await AdminClient.open(secured.bootstrap, config=security.config()) as admin:
        (await admin.create_acls(acls)).raise_first()
        await admin.wait_until_acls(created=acls)
        for filter in filters:
            assert await admin.describe_acls(filter) == sorted(acl for acl in acls if filter.matches(acl)), str(filter)
        await admin.delete_acls([AclBindingFilter(principal="User:match")])
        await admin.wait_until_acls(deleted=acls)
