"""`kafka tokens renew`."""

from __future__ import annotations

from functools import partial

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.token_rows import TokenChange, change_tokens


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
    change = partial(run.admin.renew_delegation_token, period_ms=period_ms)
    return await change_tokens(run, ids, "renewed", change)
