"""Tests of the ACL znodes."""

from __future__ import annotations

from typing import get_args

import pytest

from kwire.authorization.acl_entries import CLUSTER_NAME, ResourceType
from kwire_cluster.zookeeper import AclChangeNotification, ResourceAcls, ZnodeError
from tests.for_rows import for_rows

RESOURCE_TYPES: tuple[ResourceType, ...] = get_args(ResourceType)


def test_paths() -> None:
    assert ResourceAcls.path("Cluster", CLUSTER_NAME) == "/kafka-acl/Cluster/kafka-cluster"
    assert ResourceAcls.path("Group", "g") == "/kafka-acl/Group/g"
    assert ResourceAcls.path("TransactionalId", "p-", "prefixed") == "/kafka-acl-extended/prefixed/TransactionalId/p-"
    assert AclChangeNotification.path() == "/kafka-acl-changes/acl_changes_"


@for_rows("resource_type", RESOURCE_TYPES)
@for_rows("pattern_type", ["literal", "prefixed"])
def test_notification_is_decoded_in_any_case(resource_type: ResourceType, pattern_type: str) -> None:
    change = AclChangeNotification(resource_type, "a:b", "literal" if pattern_type == "literal" else "prefixed")
    written = change.encode()
    assert AclChangeNotification.decode(written) == change
    assert AclChangeNotification.decode(written.replace(b"_", b"")) == change
    if pattern_type == "literal":
        assert AclChangeNotification.decode(f"{resource_type.lower()}:a:b".encode()) == change


@for_rows(
    ("data", "key"),
    [
        (b"nonsense", ""),
        (b"\xff:x", ""),
        (b"Nothing:x", ""),
        (b"{}", "version"),
        (b'{"version":2,"resourceType":"TOPIC","name":"n","patternType":"PREFIXED"}', "version"),
        (b'{"version":1,"resourceType":"X","name":"n","patternType":"PREFIXED"}', "resourceType"),
        (b'{"version":1,"resourceType":"TOPIC","name":"n","patternType":"MATCH"}', "patternType"),
    ],
)
def test_malformed_notification_is_rejected(data: bytes, key: str) -> None:
    with pytest.raises(ZnodeError) as failed:
        AclChangeNotification.decode(data, "/kafka-acl-changes/acl_changes_0000000000")
    assert failed.value.key == key


@for_rows(
    ("data", "key"),
    [
        (b'{"acls":[]}', "version"),
        (b'{"version":2,"acls":[]}', "version"),
        (b'{"version":1}', "acls"),
        (b'{"version":1,"acls":[5]}', "acls[0]"),
        (b'{"version":1,"acls":[{"principal":"alice","permissionType":"A","operation":"R","host":"*"}]}',
         "acls[0].principal"),
        (b'{"version":1,"acls":[{"principal":"User:a","permissionType":"A","operation":"R"}]}', "acls[0].host"),
    ],
)  # fmt: skip
def test_malformed_acl_is_rejected(data: bytes, key: str) -> None:
    with pytest.raises(ZnodeError) as failed:
        ResourceAcls.decode(data, "/kafka-acl/Topic/t")
    assert failed.value.key == key


def test_empty_data_are_an_empty_acl() -> None:
    assert ResourceAcls.decode(b"") == ResourceAcls(())
