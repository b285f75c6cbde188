"""`kafka tokens list`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.acl_resources import PRINCIPAL, parse_principals
from kwire_admin.operations.verbs.token_rows import TokenSummary, summary


@operation(
    nothing="No delegation tokens that this user may describe.",
    lists="tokens",
    dialects=("kafka",),
    examples=("tokens list", "tokens list --owner User:alice -o json"),
)
async def list_(
    run: Run,
    owner: Annotated[
        list[str],
        Option("Only tokens of this principal, such as User:alice.", "TYPE:NAME", "principals", syntax=PRINCIPAL),
    ] = [],
) -> Rows[TokenSummary]:
    """List the delegation tokens that the user may describe, without their secrets."""
    tokens = await run.admin.describe_delegation_tokens(parse_principals(owner) or None)
    return [*map(summary, tokens)]
