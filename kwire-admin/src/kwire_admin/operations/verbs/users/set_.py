"""`kafka users set`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire._util.secret import Secret
from kwire.client.admin import ScramMechanismName, UserScramCredentialUpsertion
from kwire.protocol.scram_passwords import MIN_ITERATIONS
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange, changes


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
