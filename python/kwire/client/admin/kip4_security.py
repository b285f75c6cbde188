"""ACLs and users with SCRAM credentials in a cluster of nodes, listed and changed by their tools `acls` and `users`.

Nodes keep them in ZooKeeper, where Kafka's tools can write as well: a resource with entries that cannot be read is an
error for filters that it concerns, and for no others. A credential is derived here from the password, and sent as Kafka
stores it in ZooKeeper.
"""

from __future__ import annotations

from secrets import token_bytes

from kwire._util.concurrency import to_thread
from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.acl_values import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from kwire.client.admin.errors import AdminError
from kwire.client.admin.kip4_tools import tool_result
from kwire.client.admin.scram_values import ScramCredentialInfo, ScramMechanismName
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode
from kwire.protocol.sasl_server import ScramCredential
from kwire.protocol.scram_passwords import SALT_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.acl_values import AclBindingFilter
    from kwire.client.admin.scram_values import UserScramCredentialDeletion, UserScramCredentialUpsertion
    from kwire.client.admin.session import AclDeletions, AdminSession, ScramUsers

ACLS, USERS = "acls", "users"
"""The names of the tools."""


async def describe_acls(admin: AdminSession, filter: AclBindingFilter) -> list[AclBinding]:
    """Return the ACLs that match a filter, in order.

    Raises:
        AdminError: a resource that the filter concerns cannot be read.
    """
    return _matching_acls(await tool_result(admin, ACLS, ["list"], "ACLs", reads=True), filter)


async def reported_acls(admin: AdminSession, broker_id: int) -> frozenset[AclBinding]:
    """Return the ACLs that a node has taken over, or ZooKeeper's if the node has no authorizer."""
    rows = await tool_result(admin, ACLS, ["list", "--applied"], "ACLs", broker=broker_id, reads=True)
    return frozenset(_binding(row) for row in rows if "error" not in row)


async def create_acls(admin: AdminSession, acls: Iterable[AclBinding]) -> Outcomes:
    """Create ACLs, one after the other. The outcomes are by `str` of the ACL."""
    outcomes: dict[str, AdminError | None] = {str(acl): await _change_acl(admin, "add", acl) for acl in acls}
    return Outcomes(outcomes, 1)


async def delete_acls(admin: AdminSession, filters: Iterable[AclBindingFilter], *, validate_only: bool) -> AclDeletions:
    """Delete the ACLs that match, one after the other. A filter with an error deletes nothing."""
    rows = await tool_result(admin, ACLS, ["list"], "ACLs", reads=True)
    removed: dict[AclBinding, AdminError | None] = {}
    results: AclDeletions = {}
    for filter in filters:
        try:
            matches = _matching_acls(rows, filter)
        except AdminError as error:
            results[filter] = error
            continue
        for acl in matches:
            if acl not in removed:
                removed[acl] = None if validate_only else await _change_acl(admin, "remove", acl)
        results[filter] = {acl: removed[acl] for acl in matches}
    return results


async def _change_acl(admin: AdminSession, command: str, acl: AclBinding) -> AdminError | None:
    """Add or remove an ACL, and return the error if the node rejects it."""
    options = [f"--pattern={acl.pattern_type.value.lower()}", f"--host={acl.host}"]
    options += ["--deny"] if acl.permission_type is AclPermissionType.DENY else []
    resource = (acl.resource_type.camel_case, acl.resource_name)
    arguments = [command, *options, "--", *resource, acl.principal, acl.operation.camel_case]
    try:
        await tool_result(admin, ACLS, arguments, str(acl))
    except AdminError as error:
        return error
    return None


def _matching_acls(rows: list[dict[str, str]], filter: AclBindingFilter) -> list[AclBinding]:
    matches = set()
    for row in rows:
        if not filter.matches_resource(*_resource(row).values()):
            continue
        if "error" in row:
            item = f"{row['pattern_type']} {row['resource_type']} {row['resource_name']}"
            raise AdminError.of_kip4(Kip4ErrorCode.ADMIN_REQUEST_FAILED, item, row["error"])
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


async def describe_users(admin: AdminSession, users: tuple[str, ...]) -> ScramUsers:
    """Return the credentials of some or all users. Errors of a user: 21 malformed; 91 it has no credentials."""
    described = _credentials(await tool_result(admin, USERS, ["list"], "SCRAM users", reads=True))
    if not users:
        return described
    unknown = "the user has no SCRAM credentials"
    return {
        user: described.get(user) or AdminError.of_kafka(ErrorCode.RESOURCE_NOT_FOUND, user, unknown)
        for user in sorted(set(users))
    }


async def reported_iterations(admin: AdminSession, broker_id: int) -> Mapping[str, Mapping[ScramMechanismName, int]]:
    """Return the iterations that a node has taken over, or those in ZooKeeper if the node does not use SASL."""
    rows = await tool_result(admin, USERS, ["list", "--applied"], "SCRAM users", broker=broker_id, reads=True)
    return {
        user: {info.mechanism: info.iterations for info in infos}
        for user, infos in _credentials(rows).items()
        if not isinstance(infos, AdminError)
    }


async def alter_users(
    admin: AdminSession,
    upsertions: Iterable[UserScramCredentialUpsertion],
    deletions: Iterable[UserScramCredentialDeletion],
) -> Outcomes:
    """Delete, then set credentials, one after the other. The outcome of a user is its first error."""
    changes: list[tuple[str, list[str]]] = [
        (deletion.user, ["delete", "--", deletion.user, deletion.mechanism.value]) for deletion in deletions
    ]
    for upsertion in upsertions:
        credential = await to_thread(_credential, upsertion)
        changes.append((upsertion.user, ["set", "--", upsertion.user, upsertion.mechanism.value, credential]))
    outcomes: dict[str, AdminError | None] = {}
    for user, arguments in changes:
        try:
            await tool_result(admin, USERS, arguments, user)
        except AdminError as error:
            outcomes[user] = outcomes.get(user) or error
        else:
            outcomes.setdefault(user, None)
    return Outcomes(outcomes, 1)


def _credential(upsertion: UserScramCredentialUpsertion) -> str:
    """Return the credential, which is as secret as the password, as Kafka stores it."""
    salt = token_bytes(SALT_BYTES)
    name = upsertion.mechanism.value
    return str(ScramCredential.of_password(name, upsertion.password, salt, upsertion.iterations))


def _credentials(rows: list[dict[str, Any]]) -> ScramUsers:
    return {
        row["user"]: AdminError.of_kip4(Kip4ErrorCode.ADMIN_REQUEST_FAILED, row["user"], row["error"])
        if "error" in row
        else tuple(
            sorted(
                ScramCredentialInfo(ScramMechanismName[mechanism.replace("-", "_")], iterations)
                for mechanism, iterations in row["credentials"].items()
            )
        )
        for row in sorted(rows, key=lambda row: str(row["user"]))
    }
