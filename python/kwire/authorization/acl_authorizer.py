"""Decisions of Kafka's `AclAuthorizer` (Kafka 3.9), without I/O.

- Super users may do everything.
- A resource without any entry is closed to all others, unless `allow.everyone.if.no.acl.found` is set.
- A denial overrides every permission. Entries apply to a resource if they are of its name, of the name `*`, or of a
  prefix of its name.
- Permission to read, write, delete, or alter implies permission to describe; permission to alter configs implies
  permission to describe them. Denials imply nothing.

Beyond Kafka: entries that cannot be read might contain a denial, so the resources that they concern are closed to all
but super users. So is everything before the entries are read for the first time.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.authorization.acl_entries import CLUSTER_NAME, PATTERN_TYPES, PatternType
from kwire.authorization.subjects import normalized_host
from kwire.client.admin.acl_values import AclOperation, AclPermissionType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    from kwire.authorization.acl_entries import AclEntry, ResourceType
    from kwire.authorization.subjects import Subject

    _Rules: TypeAlias = "tuple[_Rule, ...] | None"
    """The rules of a resource; None if they cannot be read."""

__all__ = ["AclAuthorizer", "AclOperation", "Permission", "ResourcePattern"]

WILDCARD = "*"
ANY_USER = "User:*"

IMPLIED_BY = {
    AclOperation.DESCRIBE: (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER),
    AclOperation.DESCRIBE_CONFIGS: (AclOperation.ALTER_CONFIGS,),
}
"""The operations that include an operation, by operation."""

_OPERATIONS = {operation.replace("_", ""): operation for operation in AclOperation}
_PERMISSION_TYPES = {permission.value: permission for permission in AclPermissionType}


class Permission(NamedTuple):
    """An operation on resources of one type."""

    operation: AclOperation
    resource_type: ResourceType

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource_type}"


class ResourcePattern(NamedTuple):
    """The resources that a list of entries is about."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = "literal"


class _Rule(NamedTuple):
    """An entry, and how it is compared."""

    entry: AclEntry

    is_denial: bool
    operation: AclOperation
    principal: str
    host: str

    def concerns(self, subject: Subject, operations: tuple[AclOperation, ...]) -> bool:
        return (
            (self.operation in operations or self.operation is AclOperation.ALL)
            and self.principal in {subject.principal, ANY_USER}
            and self.host in {subject.host, WILDCARD}
        )


class AclAuthorizer:
    """Decides which subject may do what.

    Args:
        super_users: principals that may do everything, such as `User:admin`.
        allow_if_no_acl: true if everybody may use a resource that no entry concerns.
    """

    def __init__(self, super_users: Iterable[str] = (), *, allow_if_no_acl: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._literal: dict[ResourceType, dict[str, _Rules]] = {}
        """Rules by type and name."""
        self._prefixed: dict[ResourceType, dict[str, _Rules]] = {}
        """Rules by type and prefix."""
        self._is_complete = False
        self.changes = 0
        """The number of changes applied, for noticing a change."""

    def is_super_user(self, subject: Subject) -> bool:
        """Return whether the subject may do everything."""
        return subject.principal in self._super_users

    def replace(self, entries: Mapping[ResourcePattern, Iterable[AclEntry] | None]) -> None:
        """Replace all entries. From now on, the authorizer decides for others than super users."""
        self._literal.clear()
        self._prefixed.clear()
        self.changes += 1
        for pattern, of_pattern in entries.items():
            self.set(pattern, of_pattern)
        self._is_complete = True

    def set(self, pattern: ResourcePattern, entries: Iterable[AclEntry] | None) -> None:
        """Set the entries of a resource; None if they cannot be read."""
        self.changes += 1
        rules = None if entries is None else tuple(map(_rule, entries))
        names = self._by_name(pattern)
        if rules == ():
            names.pop(pattern.name, None)
        else:
            names[pattern.name] = rules

    def entries(self) -> dict[ResourcePattern, tuple[AclEntry, ...] | None]:
        """Return the entries of all resources; None for a resource that cannot be read."""
        rules_by_pattern = {
            ResourcePattern(resource_type, name, pattern_type): rules
            for pattern_type in PATTERN_TYPES
            for resource_type, by_name in self._by_type(pattern_type).items()
            for name, rules in by_name.items()
        }
        return {
            pattern: None if rules is None else tuple(rule.entry for rule in rules)
            for pattern, rules in rules_by_pattern.items()
        }

    def _by_type(self, pattern_type: PatternType) -> dict[ResourceType, dict[str, _Rules]]:
        return self._literal if pattern_type == "literal" else self._prefixed

    def _by_name(self, pattern: ResourcePattern) -> dict[str, _Rules]:
        return self._by_type(pattern.pattern_type).setdefault(pattern.resource_type, {})

    def allows(self, subject: Subject, permission: Permission, name: str = CLUSTER_NAME) -> bool:
        """Return whether the subject may perform the operation on the resource of this name."""
        if subject.principal in self._super_users:
            return True
        if not self._is_complete:
            return False
        rules: list[_Rule] = []
        for of_pattern in self._rules(permission.resource_type, name):
            if of_pattern is None:
                return False
            rules += of_pattern
        if not rules:
            return self._allow_if_no_acl
        wanted = (permission.operation,)
        if any(rule.is_denial and rule.concerns(subject, wanted) for rule in rules):
            return False
        sufficient = wanted + IMPLIED_BY.get(permission.operation, ())
        return any(not rule.is_denial and rule.concerns(subject, sufficient) for rule in rules)

    def _rules(self, resource_type: ResourceType, name: str) -> Iterator[_Rules]:
        literal = self._literal.get(resource_type, {})
        yield literal.get(name, ())
        yield literal.get(WILDCARD, ())
        for prefix, rules in self._prefixed.get(resource_type, {}).items():
            if name.startswith(prefix):
                yield rules


def _rule(entry: AclEntry) -> _Rule:
    """Return the rule of an entry. As in Kafka, unknown names match nothing, but the resource has an entry."""
    permission_type = _PERMISSION_TYPES.get(entry.permission_type.upper(), AclPermissionType.UNKNOWN)
    operation = _OPERATIONS.get(entry.operation.replace("_", "").upper(), AclOperation.UNKNOWN)
    if permission_type not in {AclPermissionType.ALLOW, AclPermissionType.DENY}:
        operation = AclOperation.UNKNOWN
    is_denial = permission_type is AclPermissionType.DENY
    return _Rule(entry, is_denial, operation, entry.principal, normalized_host(entry.host))
