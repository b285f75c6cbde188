"""`kafka users`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.secret import Secret
from kwire.client.admin import AdminError, ScramMechanismName, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kwire.protocol.scram_passwords import MIN_ITERATIONS
from kwire_admin.operations.changes import ItemChange, changes
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class UserCredential:
    """A credential. See `kwire.client.admin.ScramCredentialInfo`."""

    mechanism: ScramMechanismName
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUser:
    """A user with its credentials."""

    name: str
    credentials: tuple[UserCredential, ...] = field(metadata=column(rows=True))


@operation(
    nothing="No users with SCRAM credentials.", lists="users", examples=("users list", "users list alice -o json")
)
async def list_(
    run: Run, names: Annotated[list[str], Argument("Names of users [default: all].", "USER", "users")]
) -> Rows[ScramUser]:
    """List users with SCRAM credentials."""
    described = await run.admin.describe_user_scram_credentials(names)
    return rows_of(
        described, lambda name, credentials: ScramUser(name, tuple(UserCredential(*one) for one in credentials))
    )


@operation(
    Danger.CHANGES,
    waits=True,
    examples=(
        "users set alice",
        "users set alice --mechanism SCRAM-SHA-256 --iterations 8192 --password-file alice.password",
    ),
)
async def set_(
    run: Run,
    name: Annotated[str, Argument("The name of the user.", "USER", "users", minimum=1)],
    password: Annotated[Secret, Option("The new password.", "FILE", minimum=1)],
    mechanism: Annotated[
        ScramMechanismName, Option("The mechanism; a user can have a password for each [default: SCRAM-SHA-512].")
    ] = ScramMechanismName.SCRAM_SHA_512,
    iterations: Annotated[
        int,
        Option(
            "Number of hash iterations, 4096 to 16384 [default: 4096].", "N", minimum=MIN_ITERATIONS, maximum=2**31 - 1
        ),
    ] = 4096,
) -> Rows[ItemChange]:
    """Set the SCRAM password of a user, and create the user if necessary.

    The derived keys that are sent must stay as secret as the password: use a listener with TLS.
    """
    try:
        credential = UserScramCredentialUpsertion(
            user=name, password=password, mechanism=mechanism, iterations=iterations
        )
    except ValueError as error:
        raise InvalidArgument(str(error)) from None
    done = "changed" if name in await run.admin.describe_user_scram_credentials() else "created"
    outcomes = await run.admin.alter_user_scram_credentials([credential], validate_only=True)
    if run.dry_run or outcomes.errors:
        return changes(outcomes, done, dry_run=run.dry_run)
    outcomes = await run.admin.alter_user_scram_credentials([credential])
    if run.wait and not outcomes.errors:
        await run.admin.wait_until_user_scram_credentials(
            {name: {mechanism: iterations}}, timeout=run.wait, on_progress=run.on_progress
        )
    return changes(outcomes, done, dry_run=False)


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
