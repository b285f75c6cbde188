"""Delegation tokens in results of verbs, without their secrets."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import time_text
from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.parameters import NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire.client.admin import AdminClient, DelegationToken
    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """A delegation token. See `kwire.client.admin.DelegationToken`; times are in UTC."""

    name: str
    owner: str
    requester: str | None
    renewers: tuple[str, ...]
    issued: str
    expires: str
    latest_expiry: str


@dataclass(frozen=True, slots=True)
class TokenChange:
    """The outcome of a change of a token.

    Attributes:
        name: the id of the token.
        status: the outcome, such as `renewed`, or `would be renewed` in a dry run.
        expires: time of expiry, in UTC; None in a dry run.
    """

    name: str
    status: str
    expires: str | None


def summary(token: DelegationToken) -> TokenSummary:
    """Return the row of a token."""
    return TokenSummary(
        token.token_id,
        token.owner,
        token.requester,
        token.renewers,
        time_of(token.issue_timestamp_ms),
        time_of(token.expiry_timestamp_ms),
        time_of(token.max_timestamp_ms),
    )


def time_of(timestamp_ms: int) -> str:
    """Return the time in UTC for milliseconds since 1970. A lifetime may end after the year 9999."""
    return time_text(timestamp_ms, "T")


async def change_tokens(
    run: Run, ids: Sequence[str], done: str, change: Callable[..., Awaitable[int]], question: str = ""
) -> Rows[TokenChange]:
    """Change tokens, or check in a dry run what the change of each would answer.

    Args:
        run: the run.
        ids: the ids of the tokens.
        done: the outcome, as a participle such as `renewed`.
        change: changes the token of a secret.
        question: the question before the change, which the ids follow; empty for no question.
    """
    tokens = await _find_tokens(run.admin, ids)
    if question and not run.dry_run:
        run.confirm(f"{question} {', '.join(token.token_id for token in tokens)}?")
    rows: Rows[TokenChange] = []
    for token in tokens:
        try:
            expiry = await change(token.hmac, validate_only=run.dry_run)
        except AdminError as error:
            rows.append(Failure(token.token_id, error))
        else:
            status, expires = (f"would be {done}", None) if run.dry_run else (done, time_of(expiry))
            rows.append(TokenChange(token.token_id, status, expires))
    return rows


async def _find_tokens(admin: AdminClient, ids: Sequence[str]) -> list[DelegationToken]:
    """Return tokens by id.

    Raises:
        NotFound: a token is unknown.
    """
    tokens = {token.token_id: token for token in await admin.describe_delegation_tokens()}
    for token_id in ids:
        if token_id not in tokens:
            raise NotFound(f"delegation token {token_id!r} does not exist, or this user cannot describe it")
    return [tokens[token_id] for token_id in dict.fromkeys(ids)]
