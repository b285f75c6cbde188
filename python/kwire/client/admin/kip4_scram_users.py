"""Users with SCRAM credentials in a cluster of nodes, listed and changed by their tool `users`.

The tool takes a credential as Kafka stores it in ZooKeeper, derived here from the password.
"""

from __future__ import annotations

from secrets import token_bytes

from kwire._util.concurrency import to_thread
from kwire._util.light_typing import TYPE_CHECKING, Any
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

    from kwire.client.admin.scram_values import UserScramCredentialDeletion, UserScramCredentialUpsertion
    from kwire.client.admin.session import AdminSession, ScramUsers

TOOL = "users"


async def describe(admin: AdminSession, users: tuple[str, ...]) -> ScramUsers:
    """Return the credentials of some or all users. Errors of a user: 21 malformed; 91 it has no credentials."""
    described = _described(await tool_result(admin, TOOL, ["list"], "SCRAM users", reads=True))
    if not users:
        return described
    unknown = "the user has no SCRAM credentials"
    return {
        user: described.get(user) or AdminError.of_kafka(ErrorCode.RESOURCE_NOT_FOUND, user, unknown)
        for user in sorted(set(users))
    }


async def reported(admin: AdminSession, broker_id: int) -> Mapping[str, Mapping[ScramMechanismName, int]]:
    """Return the iterations that a node has taken over, or those in ZooKeeper if the node does not use SASL."""
    rows = await tool_result(admin, TOOL, ["list", "--applied"], "SCRAM users", broker=broker_id, reads=True)
    return {
        user: {info.mechanism: info.iterations for info in infos}
        for user, infos in _described(rows).items()
        if not isinstance(infos, AdminError)
    }


async def alter(
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
            await tool_result(admin, TOOL, arguments, user)
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


def _described(rows: list[dict[str, Any]]) -> ScramUsers:
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
