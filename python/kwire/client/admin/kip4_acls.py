"""ACLs in a cluster of nodes, listed and changed by their tool `acls`.

Nodes keep them in ZooKeeper, where Kafka's tools can write as well: a resource with entries that cannot be read is an
error for filters that it concerns, and for no others.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.acl_values import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from kwire.client.admin.errors import AdminError
from kwire.client.admin.kip4_tools import tool_result
from kwire.client.admin.values import Outcomes
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.acl_values import AclBindingFilter
    from kwire.client.admin.session import AclDeletions, AdminSession

TOOL = "acls"


async def describe(admin: AdminSession, filter: AclBindingFilter) -> list[AclBinding]:
    """Return the ACLs that match a filter, in order.

    Raises:
        AdminError: a resource that the filter concerns cannot be read.
    """
    return _matching(await tool_result(admin, TOOL, ["list"], "ACLs", reads=True), filter)


async def reported(admin: AdminSession, broker_id: int) -> frozenset[AclBinding]:
    """Return the ACLs that a node has taken over, or ZooKeeper's if the node has no authorizer."""
    rows = await tool_result(admin, TOOL, ["list", "--applied"], "ACLs", broker=broker_id, reads=True)
    return frozenset(_binding(row) for row in rows if "error" not in row)


async def create(admin: AdminSession, acls: Iterable[AclBinding]) -> Outcomes:
    """Create ACLs, one after the other. The outcomes are by `str` of the ACL."""
    outcomes: dict[str, AdminError | None] = {str(acl): await _change(admin, "add", acl) for acl in acls}
    return Outcomes(outcomes, 1)


async def delete(admin: AdminSession, filters: Iterable[AclBindingFilter], *, validate_only: bool) -> AclDeletions:
    """Delete the ACLs that match, one after the other. A filter with an error deletes nothing."""
    rows = await tool_result(admin, TOOL, ["list"], "ACLs", reads=True)
    removed: dict[AclBinding, AdminError | None] = {}
    results: AclDeletions = {}
    for filter in filters:
        try:
            matches = _matching(rows, filter)
        except AdminError as error:
            results[filter] = error
            continue
        for acl in matches:
            if acl not in removed:
                removed[acl] = None if validate_only else await _change(admin, "remove", acl)
        results[filter] = {acl: removed[acl] for acl in matches}
    return results


async def _change(admin: AdminSession, command: str, acl: AclBinding) -> AdminError | None:
    """Add or remove an ACL, and return the error if the node rejects it."""
    options = [f"--pattern={acl.pattern_type.value.lower()}", f"--host={acl.host}"]
    options += ["--deny"] if acl.permission_type is AclPermissionType.DENY else []
    resource = (acl.resource_type.camel_case, acl.resource_name)
    arguments = [command, *options, "--", *resource, acl.principal, acl.operation.camel_case]
    try:
        await tool_result(admin, TOOL, arguments, str(acl))
    except AdminError as error:
        return error
    return None


def _matching(rows: list[dict[str, str]], filter: AclBindingFilter) -> list[AclBinding]:
    matches = set()
    for row in rows:
        if not filter.matches_resource(*_resource(row).values()):
            continue
        if "error" in row:
            item = f"{row['pattern_type']} {row['resource_type']} {row['resource_name']}"
            raise AdminError.of_kip4(ErrorCode.ADMIN_REQUEST_FAILED, item, row["error"])
        binding = _binding(row)
        if filter.matches(binding):
            matches.add(binding)
    return sorted(matches)


def _binding(row: Mapping[str, str]) -> AclBinding:
    return AclBinding(
        **_resource(row),
        principal=row["principal"],
        host=row["host"],
        operation=_of_kafka_name(AclOperation, row["operation"]),
        permission_type=_of_kafka_name(AclPermissionType, row["permission_type"]),
    )


def _resource(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the resource as `AclBinding` names its parts."""
    return {
        "resource_type": _of_kafka_name(ResourceType, row["resource_type"]),
        "resource_name": row["resource_name"],
        "pattern_type": _of_kafka_name(PatternType, row["pattern_type"]),
    }


def _of_kafka_name(kind: Any, name: str) -> Any:
    """Return the value of an enumeration for a name in any case, `UNKNOWN` for an unknown name."""
    values = {member.value.replace("_", ""): member for member in kind}
    return values.get(name.replace("_", "").upper(), kind.UNKNOWN)
