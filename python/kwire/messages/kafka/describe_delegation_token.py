"""DescribeDelegationToken (key 41): the delegation tokens that the client may describe (KIP-48, Kafka 1.1).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
    3  tokens for other users (KIP-373, Kafka 3.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class DescribeDelegationTokenRequest(
    Request["DescribeDelegationTokenResponse"], api_key=41, versions="0-3", flexible="2+"
):
    """Requests the tokens of owners."""

    owners: nullable[array[DescribeDelegationTokenOwner]]
    """The owners; None for all owners, empty for none. Tokens that the client cannot describe are left out."""


class DescribeDelegationTokenOwner(Struct):
    """An owner of tokens."""

    principal_type: string
    """The type of the principal, always `User`."""
    principal_name: string
    """The user name, for example `alice`, without the type."""


class DescribeDelegationTokenResponse(Message, api_key=41, versions="0-3", flexible="2+"):
    """The matching tokens."""

    error_code: int16
    """0; 61 tokens are disabled; 64 not allowed on this connection."""
    tokens: array[DescribedDelegationToken]
    """The matching tokens, in no particular order."""
    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""


class DescribedDelegationToken(Struct):
    """A token, including its secret."""

    principal_type: string
    """The principal type of the owner, always `User`."""
    principal_name: string
    """The owner of the token: clients that log in with it act as this user."""
    token_requester_principal_type: string = field(since=3, default="")
    """The principal type of the requester, always `User`."""
    token_requester_principal_name: string = field(since=3, default="")
    """The user that requested the token: the owner, or a user allowed to create tokens for the owner."""
    issue_timestamp: int64
    """The creation time in milliseconds since 1970."""
    expiry_timestamp: int64
    """The time when the token expires unless it is renewed, in milliseconds since 1970."""
    max_timestamp: int64
    """The latest possible expiry time, in milliseconds since 1970."""
    token_id: string
    """The public id of the token, used as the user name."""
    hmac: bytes = field(sensitive=True)
    """The secret of the token; its base64 form is used as the password."""
    renewers: array[DescribedDelegationTokenRenewer]
    """The principals that may renew the token besides owner and requester."""


class DescribedDelegationTokenRenewer(Struct):
    """A principal that may renew the token."""

    principal_type: string
    """The type of the renewer, always `User`."""
    principal_name: string
    """The user name of the renewer, for example `alice`, without the type."""
