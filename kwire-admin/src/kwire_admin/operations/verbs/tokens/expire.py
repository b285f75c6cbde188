"""`kafka tokens expire`."""

from __future__ import annotations

from functools import partial

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.token_rows import TokenChange, change_tokens


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
    change = partial(run.admin.expire_delegation_token, period_ms=period_ms)
    return await change_tokens(run, ids, "expired", change, "Expire")
