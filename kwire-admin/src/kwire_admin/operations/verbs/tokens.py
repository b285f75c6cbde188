"""`kafka tokens`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire._util.readable import time_text
from kwire.client.admin import AdminError
from kwire_admin.operations.acl_resources import PRINCIPAL, parse_principals
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, NotFound, Option
from kwire_admin.operations.run import Run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


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
    return [
        TokenSummary(
            token.token_id,
            token.owner,
            token.requester,
            token.renewers,
            *map(_time, (token.issue_timestamp_ms, token.expiry_timestamp_ms, token.max_timestamp_ms)),
        )
        for token in tokens
    ]


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
    return [TokenChange(token.token_id, "created", _time(token.expiry_timestamp_ms))]


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
    return await _change_tokens(run, ids, "renewed", change)


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
    return await _change_tokens(run, ids, "expired", change, "Expire")


def _time(timestamp_ms: int) -> str:
    """Return the time in UTC for milliseconds since 1970. A lifetime may end after the year 9999."""
    return time_text(timestamp_ms, "T")


async def _change_tokens(
    run: Run, ids: Sequence[str], done: str, change: Callable[..., Awaitable[int]], question: str = ""
) -> Rows[TokenChange]:
    """Change tokens, or check in a dry run what the change of each would answer.

    Args:
        ids: the ids of the tokens.
        done: the outcome, as a participle such as `renewed`.
        change: changes the token of a secret.
        question: the question before the change, which the ids follow; empty for no question.

    Raises:
        NotFound: a token is unknown.
    """
    tokens = {token.token_id: token for token in await run.admin.describe_delegation_tokens()}
    named = dict.fromkeys(ids)
    for token_id in named:
        if token_id not in tokens:
            raise NotFound(f"delegation token {token_id!r} does not exist, or this user cannot describe it")
    if question and not run.dry_run:
        run.confirm(f"{question} {', '.join(named)}?")
    rows: Rows[TokenChange] = []
    for token_id in named:
        try:
            expiry = await change(tokens[token_id].hmac, validate_only=run.dry_run)
        except AdminError as error:
            rows.append(Failure(token_id, error))
        else:
            status, expires = (f"would be {done}", None) if run.dry_run else (done, _time(expiry))
            rows.append(TokenChange(token_id, status, expires))
    return rows
