"""Access control lists: the values of ACLs and of filters for them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.values import CodedName

if TYPE_CHECKING:
    from collections.abc import Mapping

CLUSTER_NAME = "kafka-cluster"
"""The name of the cluster as a resource."""


class ResourceType(CodedName):
    """The type of a resource. `ANY` is for filters."""

    UNKNOWN = "UNKNOWN", 0
    ANY = "ANY", 1
    TOPIC = "TOPIC", 2
    GROUP = "GROUP", 3
    CLUSTER = "CLUSTER", 4
    TRANSACTIONAL_ID = "TRANSACTIONAL_ID", 5
    DELEGATION_TOKEN = "DELEGATION_TOKEN", 6
    USER = "USER", 7


class PatternType(CodedName):
    """Type of the match between an ACL and the names of resources (KIP-290). `ANY` and `MATCH` are for filters.

    `MATCH` finds all ACLs that apply to a name: literal and prefixed ones, and the ACLs of the name `*`.
    """

    UNKNOWN = "UNKNOWN", 0
    ANY = "ANY", 1
    MATCH = "MATCH", 2
    LITERAL = "LITERAL", 3
    PREFIXED = "PREFIXED", 4


class AclOperation(CodedName):
    """Operation that an ACL allows or denies. `ANY` is for filters, and `ALL` is every operation."""

    UNKNOWN = "UNKNOWN", 0
    ANY = "ANY", 1
    ALL = "ALL", 2
    READ = "READ", 3
    WRITE = "WRITE", 4
    CREATE = "CREATE", 5
    DELETE = "DELETE", 6
    ALTER = "ALTER", 7
    DESCRIBE = "DESCRIBE", 8
    CLUSTER_ACTION = "CLUSTER_ACTION", 9
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS", 10
    ALTER_CONFIGS = "ALTER_CONFIGS", 11
    IDEMPOTENT_WRITE = "IDEMPOTENT_WRITE", 12
    CREATE_TOKENS = "CREATE_TOKENS", 13
    DESCRIBE_TOKENS = "DESCRIBE_TOKENS", 14
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT", 15


_CONFIGS = frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS})
_CHANGES = frozenset({AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.ALTER})
SUPPORTED_OPERATIONS: Mapping[ResourceType, frozenset[AclOperation]] = {
    ResourceType.TOPIC: _CONFIGS | _CHANGES | {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE},
    ResourceType.GROUP: _CONFIGS | {AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE},
    ResourceType.CLUSTER: _CONFIGS | _CHANGES | {AclOperation.CLUSTER_ACTION, AclOperation.IDEMPOTENT_WRITE},
    ResourceType.TRANSACTIONAL_ID: frozenset(
        {AclOperation.DESCRIBE, AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT}
    ),
    ResourceType.DELEGATION_TOKEN: frozenset({AclOperation.DESCRIBE}),
    ResourceType.USER: frozenset({AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS}),
}
"""The operations of each type of resource besides `ALL`: `AclEntry.supportedOperations` of Kafka 4.4.

Kafka 3.9 has neither the operations on configs of groups nor TWO_PHASE_COMMIT. Brokers accept ACLs of any operation, so
that clients check them.
"""


class AclPermissionType(CodedName):
    """Effect of an ACL: it allows or denies. `ANY` is for filters. A denial overrides every permission."""

    UNKNOWN = "UNKNOWN", 0
    ANY = "ANY", 1
    DENY = "DENY", 2
    ALLOW = "ALLOW", 3


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class AclBinding:
    """An ACL: it allows or denies a principal on a host an operation on resources.

    Attributes:
        resource_type: the type of the resources.
        resource_name: their name or prefix; a literal `*` matches every name. The cluster's name is `kafka-cluster`.
        pattern_type: literal or prefixed.
        principal: such as `User:alice`; `User:*` for all users.
        host: the address of the client; `*` for any.
        operation: the operation that is allowed or denied.
        permission_type: allow or deny.
    """

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType = PatternType.LITERAL
    principal: str
    host: str = "*"
    operation: AclOperation
    permission_type: AclPermissionType = AclPermissionType.ALLOW

    def __str__(self) -> str:
        return (
            f"{self.permission_type} {self.operation} on {self.pattern_type} {self.resource_type} {self.resource_name}"
            f" for {self.principal} from {self.host}"
        )

    def exact_filter(self) -> AclBindingFilter:
        """Return the filter that matches only this ACL."""
        return AclBindingFilter(**{field.name: getattr(self, field.name) for field in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AclBindingFilter:
    """A filter for ACLs. An ACL matches if all fields match; the defaults match every ACL.

    Attributes:
        resource_name: the name or prefix of the ACL, which `pattern_type` MATCH extends; None for any.
        principal: such as `User:alice`; None for any.
        host: the host of the ACL, where `*` only matches `*`; None for any.
    """

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY

    def __str__(self) -> str:
        return (
            f"{self.permission_type} {self.operation} on {self.pattern_type} {self.resource_type}"
            f" {self.resource_name or 'of any name'} for {self.principal or 'any principal'}"
            f" from {self.host or 'any host'}"
        )

    def matches(self, acl: AclBinding) -> bool:
        """Return whether an ACL matches, as brokers decide it (`AclBindingFilter` of Kafka 3.9)."""
        return (
            self.matches_resource(acl.resource_type, acl.resource_name, acl.pattern_type)
            and self.principal in {None, acl.principal}
            and self.host in {None, acl.host}
            and self.operation in {AclOperation.ANY, acl.operation}
            and self.permission_type in {AclPermissionType.ANY, acl.permission_type}
        )

    def matches_resource(self, resource_type: ResourceType, name: str, pattern_type: PatternType) -> bool:
        """Return whether the resource of an ACL matches (`ResourcePatternFilter` of Kafka 3.9)."""
        if self.resource_type not in {ResourceType.ANY, resource_type}:
            return False
        if self.pattern_type not in {PatternType.ANY, PatternType.MATCH, pattern_type}:
            return False
        if self.resource_name is None or self.resource_name == name:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return False
        return self.resource_name.startswith(name) if pattern_type is PatternType.PREFIXED else name == "*"
