"""Entries of access control lists, with the names of Kafka's `AclEntry`, and the types of resources."""

from __future__ import annotations

from typing import Literal, get_args

from kwire._util.light_typing import NamedTuple, TypeAlias

ResourceType: TypeAlias = Literal["Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User"]
PatternType: TypeAlias = Literal["literal", "prefixed"]

CLUSTER_NAME = "kafka-cluster"
"""The name of the resource of type Cluster."""

PATTERN_TYPES: tuple[PatternType, ...] = get_args(PatternType)
RESOURCE_TYPES: tuple[ResourceType, ...] = get_args(ResourceType)


class AclEntry(NamedTuple):
    """An entry such as `AclEntry("User:alice", "Allow", "Read", "*")`, with Kafka's names in any case."""

    principal: str
    permission_type: str
    operation: str
    host: str
    unknown: tuple[tuple[str, str], ...] = ()

    def is_same_as(self, other: AclEntry) -> bool:
        """Return whether both entries allow or deny the same, whatever the case of their names and unknown keys."""
        return self._key() == other._key()

    def _key(self) -> tuple[str, str, str, str]:
        return self.principal, self.permission_type.upper(), self.operation.replace("_", "").upper(), self.host
