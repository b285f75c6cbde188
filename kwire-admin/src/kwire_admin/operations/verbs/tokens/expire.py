"""`kafka tokens expire`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import check_command
from kwire_admin.operations.verbs.token_rows import TokenChange, find_tokens, time_of


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("tokens expire mWxu8Zb9QWmlKBpx2YZF9A", "tokens expire mWxu8Zb9QWmlKBpx2YZF9A --period-ms 60000 --yes"),
)
async def expire(
    run: Run,
    ids: Annotated[list[str], Argument("Ids of the tokens.", "ID", "tokens", item="token")],
    period_ms: Annotated[
        int | None, Option("Milliseconds until they expire [default: now].", "MS", minimum=0, maximum=2**63 - 1)
    ] = None,
) -> Rows[TokenChange]:
    """Expire delegation tokens now or after a time."""
    tokens = await find_tokens(run.admin, ids)
    if run.dry_run:
        await check_command(run, "ExpireDelegationTokenRequest")
        return [TokenChange(token.token_id, "would be expired", None) for token in tokens]
    run.confirm(f"Expire {', '.join(token.token_id for token in tokens)}?")
    rows: Rows[TokenChange] = []
    for token in tokens:
        try:
            expiry = await run.admin.expire_delegation_token(token.hmac, period_ms=period_ms)
        except AdminError as error:
            rows.append(Failure(token.token_id, error))
        else:
            rows.append(TokenChange(token.token_id, "expired", time_of(expiry)))
    return rows
