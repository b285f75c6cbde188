"""`kafka tokens renew`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import check_command
from kwire_admin.operations.verbs.token_rows import TokenChange, find_tokens, time_of


@operation(Danger.CHANGES, dialects=("kafka",), examples=("tokens renew mWxu8Zb9QWmlKBpx2YZF9A",))
async def renew(
    run: Run,
    ids: Annotated[list[str], Argument("Ids of the tokens.", "ID", "tokens", item="token")],
    period_ms: Annotated[
        int | None,
        Option("Milliseconds until they expire [default: set by the cluster].", "MS", minimum=0, maximum=2**63 - 1),
    ] = None,
) -> Rows[TokenChange]:
    """Renew delegation tokens."""
    rows: Rows[TokenChange] = []
    for token in await find_tokens(run.admin, ids):
        if run.dry_run:
            await check_command(run, "RenewDelegationTokenRequest")
            rows.append(TokenChange(token.token_id, "would be renewed", None))
            continue
        try:
            expiry = await run.admin.renew_delegation_token(token.hmac, period_ms=period_ms)
        except AdminError as error:
            rows.append(Failure(token.token_id, error))
        else:
            rows.append(TokenChange(token.token_id, "renewed", time_of(expiry)))
    return rows
