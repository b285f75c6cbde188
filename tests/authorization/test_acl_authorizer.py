"""The rules of Kafka's AclAuthorizer, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclAuthorizer, AclOperation, Permission, ResourcePattern
from kwire.authorization.acl_entries import AclEntry
from kwire.authorization.subjects import Subject, normalized_host
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from kwire.authorization.acl_entries import PatternType, ResourceType

ALICE = Subject("User:alice", "10.0.0.1")
BOB = Subject("User:bob", "10.0.0.2")


def allow(operation: str, principal: str = "User:alice", host: str = "*") -> AclEntry:
    return AclEntry(principal, "Allow", operation, host)


def deny(operation: str, principal: str = "User:alice", host: str = "*") -> AclEntry:
    return AclEntry(principal, "Deny", operation, host)


def authorizer(
    *entries: AclEntry,
    name: str = "orders",
    resource_type: ResourceType = "Topic",
    pattern_type: PatternType = "literal",
    super_users: tuple[str, ...] = (),
    allow_if_no_acl: bool = False,
) -> AclAuthorizer:
    made = AclAuthorizer(super_users, allow_if_no_acl=allow_if_no_acl)
    made.replace({ResourcePattern(resource_type, name, pattern_type): entries} if entries else {})
    return made


def may(made: AclAuthorizer, operation: AclOperation, topic: str = "orders", subject: Subject = ALICE) -> bool:
    return made.allows(subject, Permission(operation, "Topic"), topic)


def test_super_user_may_do_everything() -> None:
    made = authorizer(deny("All", "User:*"), super_users=("User:alice",))

    assert may(made, AclOperation.DELETE)
    assert not may(made, AclOperation.DELETE, subject=BOB)


def test_super_users_need_no_entries_to_be_read() -> None:
    unread = AclAuthorizer(["User:alice"], allow_if_no_acl=True)

    assert may(unread, AclOperation.ALTER)
    assert not may(unread, AclOperation.ALTER, subject=BOB)


@for_rows("allowed", [True, False])
def test_setting_decides_about_resources_without_entries(allowed: bool) -> None:
    assert may(authorizer(allow_if_no_acl=allowed), AclOperation.READ) is allowed
    assert may(authorizer(allow("Read"), allow_if_no_acl=allowed), AclOperation.READ, "other") is allowed
    assert not may(authorizer(allow("Write"), allow_if_no_acl=allowed), AclOperation.CREATE)


def test_removed_entries_count_as_none() -> None:
    made = authorizer(allow("Read"), allow_if_no_acl=True)
    made.set(ResourcePattern("Topic", "orders"), ())

    assert may(made, AclOperation.CREATE)


def test_permission_is_for_one_principal_and_operation() -> None:
    made = authorizer(allow("Alter"))

    assert may(made, AclOperation.ALTER)
    assert not may(made, AclOperation.DELETE)
    assert not may(made, AclOperation.ALTER, subject=BOB)
    assert not may(made, AclOperation.ALTER, subject=Subject("User:Alice", ALICE.host))


@for_rows("principal", ["User:alice", "User:*"])
@for_rows("denied", ["Alter", "All", "ALTER"])
def test_denial_overrides_permission(principal: str, denied: str) -> None:
    assert not may(authorizer(allow("All"), deny(denied, principal)), AclOperation.ALTER)
    assert not may(authorizer(deny(denied, principal), allow("All")), AclOperation.ALTER)


def test_denial_of_one_pattern_overrides_permission_of_another() -> None:
    made = authorizer(allow("All"))
    made.set(ResourcePattern("Topic", "ord", "prefixed"), (deny("Delete"),))

    assert may(made, AclOperation.ALTER)
    assert not may(made, AclOperation.DELETE)


def test_everybody_is_a_principal() -> None:
    assert may(authorizer(allow("Read", "User:*")), AclOperation.READ, subject=BOB)


def test_all_is_every_operation() -> None:
    made = authorizer(allow("All"))
    assert all(may(made, operation) for operation in AclOperation)


@for_rows(
    ("pattern_type", "pattern", "topic", "applies"),
    [
        ("literal", "orders", "orders", True),
        ("literal", "orders", "orders2", False),
        ("literal", "*", "anything", True),
        ("prefixed", "ord", "orders", True),
        ("prefixed", "orders", "orders", True),
        ("prefixed", "orders", "ord", False),
        ("prefixed", "*", "orders", False),
    ],
)
def test_pattern_applies(pattern_type: PatternType, pattern: str, topic: str, applies: bool) -> None:
    made = authorizer(allow("Read"), name=pattern, pattern_type=pattern_type)
    assert may(made, AclOperation.READ, topic) is applies


def test_types_of_resources_are_separate() -> None:
    made = authorizer(allow("All"), resource_type="Group")

    assert not may(made, AclOperation.READ)


def test_cluster_has_one_name() -> None:
    made = authorizer(allow("Alter"), resource_type="Cluster", name="kafka-cluster")

    assert made.allows(ALICE, Permission(AclOperation.ALTER, "Cluster"))
    assert made.allows(ALICE, Permission(AclOperation.DESCRIBE, "Cluster"))
    assert not made.allows(ALICE, Permission(AclOperation.CLUSTER_ACTION, "Cluster"))


@for_rows(
    ("host", "applies"), [("*", True), ("10.0.0.1", True), ("::ffff:10.0.0.1", True), ("10.0.0.2", False), ("", False)]
)
def test_host_applies(host: str, applies: bool) -> None:
    assert may(authorizer(allow("Read", host=host)), AclOperation.READ) is applies
    assert may(authorizer(allow("Read"), deny("Read", host=host)), AclOperation.READ) is not applies


def test_addresses_have_one_form() -> None:
    assert normalized_host("0:0:0:0:0:0:0:1") == normalized_host("::1") == "::1"
    assert normalized_host("fe80:0:0:0:0:0:0:1%eth0") == "fe80::1"


@for_rows("allowed", ["Read", "Write", "Delete", "Alter", "Describe"])
def test_permission_implies_describe(allowed: str) -> None:
    assert may(authorizer(allow(allowed)), AclOperation.DESCRIBE)


@for_rows("allowed", ["Create", "AlterConfigs", "DescribeConfigs", "ClusterAction"])
def test_other_permissions_do_not_imply_describe(allowed: str) -> None:
    assert not may(authorizer(allow(allowed)), AclOperation.DESCRIBE)


@for_rows(
    ("allowed", "applies"), [("AlterConfigs", True), ("ALTER_CONFIGS", True), ("Alter", False), ("Describe", False)]
)
def test_permission_implies_describing_configs(allowed: str, applies: bool) -> None:
    assert may(authorizer(allow(allowed)), AclOperation.DESCRIBE_CONFIGS) is applies


def test_denial_implies_nothing() -> None:
    assert may(authorizer(deny("Read"), allow("Describe")), AclOperation.DESCRIBE)
    assert not may(authorizer(deny("Describe"), allow("Read")), AclOperation.DESCRIBE)


@for_rows("entry", [AclEntry("User:alice", "Perhaps", "All", "*"), allow("Fly")])
def test_unknown_names_permit_nothing(entry: AclEntry) -> None:
    made = authorizer(entry, allow_if_no_acl=True)

    assert not any(may(made, operation) for operation in AclOperation if operation is not AclOperation.UNKNOWN)


@for_rows(
    "pattern",
    [
        ResourcePattern("Topic", "orders"),
        ResourcePattern("Topic", "*"),
        ResourcePattern("Topic", "or", "prefixed"),
    ],
)
def test_entries_that_cannot_be_read_close_the_resource(pattern: ResourcePattern) -> None:
    made = authorizer(allow("All"), super_users=("User:bob",), allow_if_no_acl=True)
    made.set(pattern, None)

    assert not may(made, AclOperation.READ)
    assert may(made, AclOperation.READ, subject=BOB)


def test_type_that_cannot_be_read_is_closed() -> None:
    made = authorizer(allow("All"), allow_if_no_acl=True)
    made.set(ResourcePattern("Topic", "", "prefixed"), None)

    assert not may(made, AclOperation.READ, "anything")
