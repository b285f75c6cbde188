"""ACLs in command lines: resources such as `topic:orders`, principals, and the rows of changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.client.admin import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from kwire.client.admin.acl_values import CLUSTER_NAME, SUPPORTED_OPERATIONS
from kwire_admin.operations.parameters import InvalidArgument, Syntax

if TYPE_CHECKING:
    from collections.abc import Iterable

RESOURCE_TYPES = {
    resource_type.value.lower().replace("_", "-"): resource_type
    for resource_type in ResourceType
    if resource_type not in (ResourceType.UNKNOWN, ResourceType.ANY)
}
"""Types of resources as they are written in a command line."""


def _any_case(kind: str) -> str:
    """Return a pattern for the name of a type in any case, with `_` or `-`, as Kafka's documentation writes it."""
    return "".join("[_-]" if letter == "-" else f"[{letter.upper()}{letter}]" for letter in kind)


OTHER_TYPES = "|".join(_any_case(kind) for kind in RESOURCE_TYPES if kind != "cluster")
EXPECTED_RESOURCE = f"a resource: write TYPE:NAME, such as topic:orders; the types are {', '.join(RESOURCE_TYPES)}"
RESOURCES = Syntax(rf"(?:{_any_case('cluster')}|{OTHER_TYPES})(?::[\s\S]+)?", EXPECTED_RESOURCE)
"""A resource, or a type for all of its resources."""
RESOURCE = Syntax(
    rf"{_any_case('cluster')}(?::[\s\S]+)?|(?:{OTHER_TYPES}):[\s\S]+",
    EXPECTED_RESOURCE.replace("a resource", "a resource with a name"),
)
"""A resource with a name; the name of the cluster can be left out."""
PRINCIPAL = Syntax(r"[^:]+:[\s\S]+", "a principal: write TYPE:NAME, such as User:alice")
KEYS = frozenset(field.name for field in fields(AclBinding))
"""The keys of an ACL in the document, as `acls list` prints them."""
REQUIRED_KEYS = frozenset({"resource_type", "resource_name", "principal", "operation"})
"""The keys without a default: the others are those of `acls add`."""
ENUMERATIONS: dict[str, Any] = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
}
"""The classes of keys with a choice of values."""
FILTERS = frozenset({"UNKNOWN", "ANY", "MATCH"})
"""Values of these classes that no ACL has."""


class Resource(NamedTuple):
    """Resources of one type; name None for every name."""

    type: ResourceType
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclChange(AclBinding):
    """The outcome of a change of an ACL.

    Attributes:
        status: the outcome, such as `added`, or `would be added` in a dry run.
    """

    status: str


def acl_change(acl: AclBinding, status: str) -> AclChange:
    """Return the row for an ACL."""
    return AclChange(**{field.name: getattr(acl, field.name) for field in fields(AclBinding)}, status=status)


def parse_resource(text: str) -> Resource:
    """Return the resource that a text such as `topic:orders`, `group`, or `cluster` names.

    Raises:
        InvalidArgument: the text is not a resource.
    """
    RESOURCES.match(text)
    kind, _, name = text.partition(":")
    resource_type = RESOURCE_TYPES[kind.lower().replace("_", "-")]
    if resource_type is ResourceType.CLUSTER and not name:
        name = CLUSTER_NAME
    return Resource(resource_type, name or None)


def check_operations(resource: ResourceType, operations: Iterable[AclOperation]) -> None:
    """Check that an ACL of a type of resource can have these operations.

    Raises:
        InvalidArgument: one of them has no meaning for the type.
    """
    supported = (AclOperation.ALL, *sorted(SUPPORTED_OPERATIONS[resource]))
    for operation in operations:
        if operation not in supported:
            raise InvalidArgument(
                f"an ACL of a {resource.value.lower().replace('_', '-')} cannot have the operation {operation}: it has "
                f"{', '.join(supported)}"
            )


def parse_principals(texts: Iterable[str]) -> list[str]:
    """Check that each text is a principal such as `User:alice`.

    Raises:
        InvalidArgument: a text is not a principal.
    """
    principals = list(texts)
    for text in principals:
        PRINCIPAL.match(text)
    return principals


def acl_of_row(where: str, row: Any) -> AclBinding:
    """Return the ACL of a row, as `acls list` prints it.

    Args:
        where: the location of the row, for errors.

    Raises:
        InvalidArgument: the row is not a valid ACL.
    """
    if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
        raise InvalidArgument(f"{where}: expected an object with strings")
    unknown, missing = sorted(row.keys() - KEYS), sorted(REQUIRED_KEYS - row.keys())
    if unknown or missing:
        problem = f"unknown key {unknown[0]}" if unknown else f"no {missing[0]}"
        raise InvalidArgument(f"{where}: {problem}; the keys are {', '.join(sorted(KEYS))}")
    values: dict[str, Any] = dict(row)
    for key, kind in ENUMERATIONS.items():
        choices = [member.value for member in kind if member.value not in FILTERS]
        if key in row and row[key].upper() not in choices:
            raise InvalidArgument(f"{where}: {key} {row[key]!r} is not one of {', '.join(choices)}")
        if key in row:
            values[key] = kind(row[key].upper())
    if not row["resource_name"]:
        raise InvalidArgument(f"{where}: resource_name is empty")
    try:
        if not re.fullmatch(r"[^:]+:[\s\S]*", row["principal"]):  # Kafka also stores principals without a name
            PRINCIPAL.match(row["principal"])
        check_operations(values["resource_type"], [values["operation"]])
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None
    return AclBinding(**values)
