"""Who may do what with which resource, as Kafka's ``AclAuthorizer`` keeps it, and the notes that say what changed.

Rules of this file: literal resources and prefixed ones have paths and notes of different forms. Without its note no
running broker reads an entry again. Source: the page "Kafka data structures in Zookeeper" for topics, the cluster and
groups; Kafka 1.0 to 3.9 (``kafka.zk.ZkAclStore``, ``AclEntry``) for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from kwire.cluster.zookeeper.errors import ZnodeError
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump, object_text

__all__ = ["CLUSTER_NAME", "AclChangeNotification", "AclEntry", "PatternType", "ResourceAcls", "ResourceType"]

ResourceType: TypeAlias = Literal["Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User"]
PatternType: TypeAlias = Literal["literal", "prefixed"]

CLUSTER_NAME = "kafka-cluster"
"""The one name that a resource of the type Cluster has."""

_RESOURCE_TYPES: tuple[ResourceType, ...] = get_args(ResourceType)
# Kafka names its enumeration's members with underscores in the notes it writes, and reads either, in any case.
_BY_CODE = {name.replace("_", "").upper(): name for name in _RESOURCE_TYPES}
_ENUMERATION = {
    "Topic": "TOPIC",
    "Group": "GROUP",
    "Cluster": "CLUSTER",
    "TransactionalId": "TRANSACTIONAL_ID",
    "DelegationToken": "DELEGATION_TOKEN",
    "User": "USER",
}


class AclEntry(NamedTuple):
    """``AclEntry("User:alice", "Allow", "Read", "*")``: the words are Kafka's, in any case."""

    principal: str
    permission_type: str
    operation: str
    host: str
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class ResourceAcls:
    """``/kafka-acl/<Type>/<name>``, or ``/kafka-acl-extended/prefixed/<Type>/<prefix>``."""

    acls: tuple[AclEntry, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(resource_type: ResourceType, name: str, pattern_type: PatternType = "literal") -> str:
        """Where it is."""
        root = "/kafka-acl" if pattern_type == "literal" else "/kafka-acl-extended/prefixed"
        return f"{root}/{resource_type}/{name}"

    def encode(self) -> bytes:
        """Version 1, the only one."""
        entries = ",".join(
            object_text(
                {
                    "principal": one.principal,
                    "permissionType": one.permission_type,
                    "operation": one.operation,
                    "host": one.host,
                },
                one.unknown,
            )
            for one in self.acls
        )
        return dump({"version": 1}, (("acls", f"[{entries}]"), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/kafka-acl") -> ResourceAcls:
        """No data mean no entries. Errors: ZnodeError."""
        if not data:
            return cls(())
        node = JsonObject.parse(data, path)
        version = node.integer("version")
        if version != 1:
            raise node.fault("version", f"{version}: expected 1")
        acls = []
        for one in node.objects("acls"):
            principal, permission_type = one.text("principal"), one.text("permissionType")
            kind, colon, name = principal.partition(":")
            if not kind or not colon or not name:
                raise one.fault("principal", f"{principal!r} has not the form <type>:<name>")
            acls.append(AclEntry(principal, permission_type, one.text("operation"), one.text("host"), one.unknown()))
        return cls(tuple(acls), node.unknown())


@dataclass(frozen=True, slots=True)
class AclChangeNotification:
    """A sequential node that makes brokers read a resource's entries again."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = "literal"

    @staticmethod
    def path(pattern_type: PatternType = "literal", number: int | None = None) -> str:
        """Where it is; without number: what to create as a sequential node."""
        root = "/kafka-acl-changes" if pattern_type == "literal" else "/kafka-acl-extended-changes"
        return f"{root}/acl_changes_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """``TOPIC:orders`` for a literal resource, JSON for a prefixed one."""
        resource_type = _ENUMERATION[self.resource_type]
        if self.pattern_type == "literal":
            return f"{resource_type}:{self.name}".encode()
        return dump({"version": 1, "resourceType": resource_type, "name": self.name, "patternType": "PREFIXED"})

    @classmethod
    def decode(cls, data: bytes, path: str = "/kafka-acl-changes") -> AclChangeNotification:
        """Of either form. Errors: ZnodeError."""
        if data.lstrip()[:1] == b"{":
            return cls._extended(JsonObject.parse(data, path))
        try:
            code, colon, name = data.decode().partition(":")
        except UnicodeDecodeError as error:
            raise ZnodeError(path, "", f"no UTF-8: {error}") from None
        if not colon:
            raise ZnodeError(path, "", f"expected ResourceType:ResourceName, found {data[:60]!r}")
        return cls(_resource_type(code, path, ""), name)

    @classmethod
    def _extended(cls, node: JsonObject) -> AclChangeNotification:
        version = node.integer("version")
        if version > 1:
            raise node.fault("version", f"{version}: supported is 1")
        resource_type = node.text("resourceType")
        name = node.text("name")
        pattern_type = node.text("patternType")
        if pattern_type.upper() not in {"LITERAL", "PREFIXED"}:
            raise node.fault("patternType", f"{pattern_type!r}: expected LITERAL or PREFIXED")
        found = _BY_CODE.get(resource_type.replace("_", "").upper())
        if found is None:
            raise node.fault("resourceType", f"{resource_type!r} is no type of resource")
        return cls(found, name, "literal" if pattern_type.upper() == "LITERAL" else "prefixed")


def _resource_type(code: str, path: str, key: str) -> ResourceType:
    try:
        return _BY_CODE[code.replace("_", "").upper()]
    except KeyError:
        raise ZnodeError(path, key, f"{code!r} is no type of resource") from None
