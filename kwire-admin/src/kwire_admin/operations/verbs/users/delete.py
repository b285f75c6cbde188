"""`kafka users delete`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import AdminError, ScramMechanismName, UserScramCredentialDeletion
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class CredentialChange:
    """The outcome of a change of a credential.

    Attributes:
        name: the user.
        mechanism: the mechanism of the credential.
        status: `deleted`, or `would be deleted` in a dry run.
        attempts: number of times the request was sent.
    """

    name: str
    mechanism: ScramMechanismName
    status: str
    attempts: int = field(metadata=column(table=False))


@operation(
    Danger.DESTROYS,
    waits=True,
    examples=("users delete alice", "users delete alice bob --mechanism SCRAM-SHA-256 --yes"),
)
async def delete(
    run: Run,
    names: Annotated[list[str], Argument("Names of users.", "USER", "users", item="user")],
    mechanism: Annotated[ScramMechanismName | None, Option("Only the credential of this mechanism.")] = None,
) -> Rows[CredentialChange]:
    """Delete the SCRAM credentials of users. Their ACLs and quotas stay."""
    rows: Rows[CredentialChange] = []
    users_by_mechanism: dict[ScramMechanismName, list[str]] = {}
    for name, credentials in (await run.admin.describe_user_scram_credentials(names)).items():
        if isinstance(credentials, AdminError):
            rows.append(Failure(name, credentials))
            continue
        deletable = [mechanism] if mechanism is not None else [credential.mechanism for credential in credentials]
        for kind in deletable:
            users_by_mechanism.setdefault(kind, []).append(name)
    for kind, users in users_by_mechanism.items():  # a request may name a user once
        deletions = [UserScramCredentialDeletion(user, kind) for user in users]
        checked = await run.admin.alter_user_scram_credentials(deletions=deletions, validate_only=True)
        rows += [Failure(user, error) for user, error in checked.errors.items()]
        users_by_mechanism[kind] = [user for user in users if user not in checked.errors]
    users_by_mechanism = {kind: users for kind, users in users_by_mechanism.items() if users}
    if run.dry_run:
        planned = ((user, kind) for kind, users in users_by_mechanism.items() for user in users)
        return [*rows, *(CredentialChange(user, kind, "would be deleted", 1) for user, kind in planned)]
    if users_by_mechanism:
        affected = sorted({user for users in users_by_mechanism.values() for user in users})
        run.confirm(f"Delete the SCRAM credentials of {', '.join(affected)}?")
    for kind, users in users_by_mechanism.items():
        outcomes = await run.admin.alter_user_scram_credentials(
            deletions=[UserScramCredentialDeletion(user, kind) for user in users]
        )
        rows += [
            CredentialChange(user, kind, "deleted", outcomes.attempts) if error is None else Failure(user, error)
            for user, error in outcomes.items()
        ]
        deleted = [user for user, error in outcomes.items() if error is None]
        if deleted and run.wait:
            await run.admin.wait_until_user_scram_credentials(
                {user: {kind: None} for user in deleted}, timeout=run.wait, on_progress=run.on_progress
            )
    return rows
