"""`kafka users list`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import ScramMechanismName
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.rows import column, rows_of
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential. See `kwire.client.admin.ScramCredentialInfo`."""

    mechanism: ScramMechanismName
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUser:
    """A user with its credentials."""

    name: str
    credentials: tuple[Credential, ...] = field(metadata=column(rows=True))


@operation(
    nothing="No users with SCRAM credentials.", lists="users", examples=("users list", "users list alice -o json")
)
async def list_(
    run: Run, names: Annotated[list[str], Argument("Names of users [default: all].", "USER", "users")]
) -> Rows[ScramUser]:
    """List users with SCRAM credentials."""
    described = await run.admin.describe_user_scram_credentials(names)
    return rows_of(
        described,
        lambda name, credentials: ScramUser(
            name, tuple(Credential(credential.mechanism, credential.iterations) for credential in credentials)
        ),
    )
