"""`kafka tokens create`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_resources import PRINCIPAL, parse_principals
from kwire_admin.operations.verbs.token_rows import TokenChange, time_of


@operation(
    Danger.CHANGES,
    dialects=("kafka",),
    examples=("tokens create --hmac-file job.hmac", "tokens create --hmac-file job.hmac --renewer User:scheduler"),
)
async def create(
    run: Run,
    hmac_file: Annotated[Path, Option("A new file for the secret of the token, readable by its owner only.", "FILE")],
    owner: Annotated[
        str | None,
        Option(
            "The principal that the token acts as, such as User:alice [default: you].",
            "TYPE:NAME",
            "principals",
            syntax=PRINCIPAL,
        ),
    ] = None,
    renewer: Annotated[
        list[str], Option("A principal that may renew it.", "TYPE:NAME", "principals", syntax=PRINCIPAL)
    ] = [],
    max_lifetime_ms: Annotated[
        int | None,
        Option(
            "Milliseconds after which it cannot be renewed [default: set by the cluster].",
            "MS",
            minimum=0,
            maximum=2**63 - 1,
        ),
    ] = None,
) -> Rows[TokenChange]:
    """Create a delegation token. Log in with SCRAM, with its id as user name and its secret as password."""
    parse_principals([*renewer, *([] if owner is None else [owner])])
    await run.admin.validate_delegation_token(owner=owner, renewers=renewer)
    run.files.check_new(hmac_file)
    if run.dry_run:
        return [TokenChange("-", "would be created", None)]
    with run.files.create(hmac_file) as stream:  # before the token is created, so that its secret cannot be lost
        token = await run.admin.create_delegation_token(owner=owner, renewers=renewer, max_lifetime_ms=max_lifetime_ms)
        stream.write(token.hmac.reveal() + "\n")
    return [TokenChange(token.token_id, "created", time_of(token.expiry_timestamp_ms))]
