"""Delegation tokens: create, describe, renew, and expire them (KIP-48).

The connection must be authenticated, and not by a token.

Examples:
    >>> import time
    >>> token = admin.create_delegation_token(renewers=["User:alice"], max_lifetime_ms=3_600_000)
    >>> token.hmac  # `token.hmac.reveal()` is the password of the token
    Secret([hidden])
    >>> while token not in admin.describe_delegation_tokens(["User:admin"]):  # until the broker knows it
    ...     time.sleep(0.1)
    >>> expires_ms = admin.renew_delegation_token(token.hmac, period_ms=60_000)
    >>> expired_ms = admin.expire_delegation_token(token.hmac)
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.secret import Secret
from kwire.client.admin.answer import error_code
from kwire.client.admin.change_checks import check_change
from kwire.client.admin.errors import AdminError
from kwire.client.admin.session import strings_tuple
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin.session import AdminSession
    from kwire.declare import Message

ITEM = "delegation token"
"""Subject of an error."""
USER = "User"
"""The only type of principals that brokers accept as owners and renewers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToken:
    """A delegation token. Times are in milliseconds since 1970.

    Attributes:
        token_id: its public id, the user name of a login with SCRAM.
        owner: the principal that a login with the token acts as, such as `User:alice`.
        requester: the principal that created it; None from brokers before Kafka 3.3.
        renewers: other principals that may renew it.
        issue_timestamp_ms: the time of its creation.
        expiry_timestamp_ms: the time of its expiry unless it is renewed.
        max_timestamp_ms: the latest possible expiry.
        hmac: its secret in base64, the password of a login.
    """

    token_id: str
    owner: str
    requester: str | None
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    hmac: Secret


async def create_delegation_token(
    admin: AdminSession, *, owner: str | None = None, renewers: Iterable[str] = (), max_lifetime_ms: int | None = None
) -> DelegationToken:
    """Create a token. The command is never repeated after a lost response.

    Args:
        owner: the principal that a login with the token acts as, such as `User:alice`; None for the user of this
            client. Other owners need Kafka 3.3.
        renewers: other principals that may renew the token.
        max_lifetime_ms: milliseconds after which it cannot be renewed; None for the maximum of the cluster.

    Raises:
        AdminError: 61 tokens are disabled; 64 not allowed on this connection; 65 not authorized for the owner; 67
            invalid type of a principal.
        OutcomeUnknown: the response was lost.
        ValueError: a principal has no type.
    """
    from kwire.messages.kafka.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest

    kind, name = ("", "") if owner is None else _principal(owner)
    allowed = strings_tuple(renewers)
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind,
        owner_principal_name=name,
        renewers=tuple(
            CreatableRenewers(principal_type=renewer[0], principal_name=renewer[1])
            for renewer in map(_principal, allowed)
        ),
        max_lifetime_ms=-1 if max_lifetime_ms is None else max_lifetime_ms,
    )
    answer = await admin.router.command(request, error_code=error_code)
    response = answer.accepted(ITEM)
    return DelegationToken(
        token_id=response.token_id,
        owner=f"{response.principal_type}:{response.principal_name}",
        requester=_requester(response.token_requester_principal_type, response.token_requester_principal_name),
        renewers=allowed,
        issue_timestamp_ms=response.issue_timestamp_ms,
        expiry_timestamp_ms=response.expiry_timestamp_ms,
        max_timestamp_ms=response.max_timestamp_ms,
        hmac=Secret(b64encode(response.hmac).decode()),
    )


async def describe_delegation_tokens(admin: AdminSession, owners: Iterable[str] | None = None) -> list[DelegationToken]:
    """Return the tokens that this client may describe, sorted by owner and time of creation.

    Args:
        owners: only tokens of these principals; None for all.

    Raises:
        AdminError: 61 tokens are disabled; 64 not allowed on this connection.
        ValueError: a principal has no type.
    """
    from kwire.messages.kafka.describe_delegation_token import (
        DescribeDelegationTokenOwner,
        DescribeDelegationTokenRequest,
    )

    principals = None
    if owners is not None:
        principals = tuple(
            DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
            for kind, name in map(_principal, strings_tuple(owners))
        )
    answer = await admin.router.read(DescribeDelegationTokenRequest(owners=principals), error_code=error_code)
    tokens = (
        DelegationToken(
            token_id=token.token_id,
            owner=f"{token.principal_type}:{token.principal_name}",
            requester=_requester(token.token_requester_principal_type, token.token_requester_principal_name),
            renewers=tuple(f"{renewer.principal_type}:{renewer.principal_name}" for renewer in token.renewers),
            issue_timestamp_ms=token.issue_timestamp,
            expiry_timestamp_ms=token.expiry_timestamp,
            max_timestamp_ms=token.max_timestamp,
            hmac=Secret(b64encode(token.hmac).decode()),
        )
        for token in answer.accepted(ITEM).tokens
    )
    return sorted(tokens, key=lambda token: (token.owner, token.issue_timestamp_ms, token.token_id))


async def validate_delegation_token(
    admin: AdminSession, *, owner: str | None = None, renewers: Iterable[str] = ()
) -> None:
    """Check what `create_delegation_token` would refuse, and create nothing.

    Brokers do not report whose tokens a user may create, so that is not checked.

    Raises:
        AdminError, ValueError: see `create_delegation_token`.
    """
    from kwire.messages.kafka.create_delegation_token import CreateDelegationTokenRequest

    principals = [*strings_tuple(renewers), *([] if owner is None else [owner])]
    types = [_principal(principal)[0] for principal in principals]
    await describe_delegation_tokens(admin, [])  # has the errors of a cluster or a connection without tokens
    await check_change(admin, CreateDelegationTokenRequest, ITEM)
    for principal, kind in zip(principals, types, strict=True):
        if kind != USER:
            reason = f"{principal} is not a principal of the type {USER}"
            raise AdminError.of_kafka(ErrorCode.INVALID_PRINCIPAL_TYPE, ITEM, reason)


async def renew_delegation_token(
    admin: AdminSession, hmac: Secret, *, period_ms: int | None = None, validate_only: bool = False
) -> int:
    """Extend the validity of a token, and return the new time of expiry in milliseconds since 1970.

    The command is never repeated after a lost response.

    Args:
        hmac: the secret of the token in base64.
        period_ms: milliseconds until the expiry, limited by the maximum lifetime; None for the default of the
            cluster.
        validate_only: check the token, and return its expiry as it is. Brokers do not report who the user of a
            connection is, so it is not checked if that is the owner or a renewer.

    Raises:
        ValueError: the secret is not base64.
        AdminError: 62 unknown token; 63 not the owner or a renewer; 64 not allowed on this connection; 66 the token
            has expired.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.renew_delegation_token import RenewDelegationTokenRequest

    if validate_only:
        return await _check_token(admin, hmac, RenewDelegationTokenRequest)
    request = RenewDelegationTokenRequest(hmac=_decoded(hmac), renew_period_ms=-1 if period_ms is None else period_ms)
    answer = await admin.router.command(request, error_code=error_code)
    return answer.accepted(ITEM).expiry_timestamp_ms


async def expire_delegation_token(
    admin: AdminSession, hmac: Secret, *, period_ms: int | None = None, validate_only: bool = False
) -> int:
    """Let a token expire, and return the time of expiry in milliseconds since 1970.

    The command is never repeated after a lost response.

    Args:
        hmac: the secret of the token in base64.
        period_ms: milliseconds until the expiry; None for now.
        validate_only: see `renew_delegation_token`.

    Raises:
        ValueError, AdminError: see `renew_delegation_token`.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.expire_delegation_token import ExpireDelegationTokenRequest

    if validate_only:
        return await _check_token(admin, hmac, ExpireDelegationTokenRequest)
    request = ExpireDelegationTokenRequest(
        hmac=_decoded(hmac), expiry_time_period_ms=-1 if period_ms is None else period_ms
    )
    answer = await admin.router.command(request, error_code=error_code)
    return answer.accepted(ITEM).expiry_timestamp_ms


async def _check_token(admin: AdminSession, hmac: Secret, request: type[Message]) -> int:
    """Return the expiry of a token that can be changed, in milliseconds since 1970.

    Raises:
        AdminError: it is unknown, or it has expired by the clock of this machine.
    """
    secret = _decoded(hmac)
    tokens = await describe_delegation_tokens(admin)
    token = next((token for token in tokens if _decoded(token.hmac) == secret), None)
    if token is None:
        raise AdminError.of_kafka(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, ITEM)
    if min(token.expiry_timestamp_ms, token.max_timestamp_ms) < time.time() * 1000:
        raise AdminError.of_kafka(ErrorCode.DELEGATION_TOKEN_EXPIRED, ITEM)
    await check_change(admin, request, ITEM)
    return token.expiry_timestamp_ms


def _principal(text: str) -> tuple[str, str]:
    """Return the type and the name of a principal such as `User:alice`."""
    kind, _, name = text.partition(":")
    if not kind or not name:
        raise ValueError(f"{text!r} is not a principal: write TYPE:NAME, such as User:alice")
    return kind, name


def _requester(kind: str, name: str) -> str | None:
    return f"{kind}:{name}" if kind else None


def _decoded(hmac: Secret) -> bytes:
    try:
        return b64decode(hmac.reveal(), validate=True)
    except ValueError:
        raise ValueError("the secret of a token must be base64") from None
