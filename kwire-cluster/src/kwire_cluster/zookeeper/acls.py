"""Znodes of access control lists, as Kafka's `AclAuthorizer` keeps them, and their change notifications.

Literal and prefixed resources have different paths and notifications. Brokers read an entry again only after its
notification. Sources: "Kafka data structures in Zookeeper" for topics, the cluster, and groups; Kafka 1.0 to 3.9
(`kafka.zk.ZkAclStore`, `AclEntry`) for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire.authorization.acl_entries import RESOURCE_TYPES, AclEntry, PatternType, ResourceType
from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json, encode_object

# Kafka writes notifications with underscores, and reads both forms in any case.
_BY_NAME = {name.replace("_", "").upper(): name for name in RESOURCE_TYPES}
_ENUM_NAMES = {
    "Topic": "TOPIC",
    "Group": "GROUP",
    "Cluster": "CLUSTER",
    "TransactionalId": "TRANSACTIONAL_ID",
    "DelegationToken": "DELEGATION_TOKEN",
    "User": "USER",
}


@dataclass(frozen=True, slots=True)
class ResourceAcls:
    """`/kafka-acl/<Type>/<name>` or `/kafka-acl-extended/prefixed/<Type>/<prefix>`: the ACL of a resource."""

    acls: tuple[AclEntry, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(resource_type: ResourceType, name: str, pattern_type: PatternType = "literal") -> str:
        """Return the path."""
        root = "/kafka-acl" if pattern_type == "literal" else "/kafka-acl-extended/prefixed"
        return f"{root}/{resource_type}/{name}"

    def encode(self) -> bytes:
        """Encode as version 1."""
        entries = ",".join(
            encode_object(
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
        return encode_json({"version": 1}, (("acls", f"[{entries}]"), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/kafka-acl") -> ResourceAcls:
        """Decode the data, or raise ZnodeError. Empty data contain no entries."""
        if not data:
            return cls(())
        document = JsonObject.decode(data, path)
        version = document.integer("version")
        if version != 1:
            raise document.error("version", f"expected 1, found {version}")
        acls = []
        for one in document.objects("acls"):
            principal, permission_type = one.string("principal"), one.string("permissionType")
            kind, colon, name = principal.partition(":")
            if not kind or not colon or not name:
                raise one.error("principal", f"expected <type>:<name>, found {principal!r}")
            acls.append(
                AclEntry(principal, permission_type, one.string("operation"), one.string("host"), one.unknown())
            )
        return cls(tuple(acls), document.unknown())


@dataclass(frozen=True, slots=True)
class AclChangeNotification:
    """A sequential znode that makes brokers read the ACL of a resource again."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = "literal"

    @staticmethod
    def path(pattern_type: PatternType = "literal", number: int | None = None) -> str:
        """Return the path, without a number the prefix to create a sequential znode."""
        root = "/kafka-acl-changes" if pattern_type == "literal" else "/kafka-acl-extended-changes"
        return f"{root}/acl_changes_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """Encode as text such as `TOPIC:orders` for a literal resource, as JSON for a prefixed one."""
        resource_type = _ENUM_NAMES[self.resource_type]
        if self.pattern_type == "literal":
            return f"{resource_type}:{self.name}".encode()
        return encode_json({"version": 1, "resourceType": resource_type, "name": self.name, "patternType": "PREFIXED"})

    @classmethod
    def decode(cls, data: bytes, path: str = "/kafka-acl-changes") -> AclChangeNotification:
        """Decode either form, or raise ZnodeError."""
        if data.lstrip()[:1] == b"{":
            return cls._extended(JsonObject.decode(data, path))
        try:
            code, colon, name = data.decode().partition(":")
        except UnicodeDecodeError as error:
            raise ZnodeError(path, "", f"invalid UTF-8: {error}") from None
        if not colon:
            raise ZnodeError(path, "", f"expected ResourceType:ResourceName, found {data[:60]!r}")
        return cls(_resource_type(code, path, ""), name)

    @classmethod
    def _extended(cls, document: JsonObject) -> AclChangeNotification:
        version = document.integer("version")
        if version > 1:
            raise document.error("version", f"expected 1, found {version}")
        resource_type = document.string("resourceType")
        name = document.string("name")
        pattern_type = document.string("patternType")
        if pattern_type.upper() not in {"LITERAL", "PREFIXED"}:
            raise document.error("patternType", f"expected LITERAL or PREFIXED, found {pattern_type!r}")
        resource = _BY_NAME.get(resource_type.replace("_", "").upper())
        if resource is None:
            raise document.error("resourceType", f"unknown resource type {resource_type!r}")
        return cls(resource, name, "literal" if pattern_type.upper() == "LITERAL" else "prefixed")


def _resource_type(code: str, path: str, key: str) -> ResourceType:
    try:
        return _BY_NAME[code.replace("_", "").upper()]
    except KeyError:
        raise ZnodeError(path, key, f"unknown resource type {code!r}") from None
