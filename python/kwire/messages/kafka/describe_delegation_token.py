"""DescribeDelegationToken (key 41): the tokens that the caller may see (KIP-48, Kafka 1.1).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
    3  tokens in the name of another user (KIP-373, Kafka 3.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class DescribeDelegationTokenRequest(
    Request["DescribeDelegationTokenResponse"], api_key=41, versions="0-3", flexible="2+"
):
    """Asks for tokens by their owners."""

    owners: nullable[array[DescribeDelegationTokenOwner]]
    """Whose tokens; None for those of everybody, empty for none. Tokens the caller may not describe are left out."""


class DescribeDelegationTokenOwner(Struct):
    """Somebody who has to do with a token: its owner, or one who may renew it."""

    principal_type: string
    """The kind of principal, ``User``."""
    principal_name: string
    """Who it is, e.g. ``alice``, without the kind before it."""


class DescribeDelegationTokenResponse(Message, api_key=41, versions="0-3", flexible="2+"):
    """The tokens found."""

    error_code: int16
    """0, 61 tokens are disabled, 64 not on this kind of connection."""
    tokens: array[DescribedDelegationToken]
    """The tokens, in no order."""
    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""


class DescribedDelegationToken(Struct):
    """One token, its secret included: the caller may log in by it."""

    principal_type: string
    """The kind of owner, ``User``."""
    principal_name: string
    """In whose name the token speaks."""
    token_requester_principal_type: string = field(since=3, default="")
    """The kind of principal that asked for it, ``User``."""
    token_requester_principal_name: string = field(since=3, default="")
    """Who asked for it: the owner, or somebody permitted to create tokens for the owner."""
    issue_timestamp: int64
    """When it was made, in milliseconds since 1970."""
    expiry_timestamp: int64
    """When it ends unless it is renewed before, in milliseconds since 1970."""
    max_timestamp: int64
    """When it ends in any case, in milliseconds since 1970."""
    token_id: string
    """Its public name, the user name when logging in by it."""
    hmac: bytes
    """Its secret; in base64 the password when logging in by it."""
    renewers: array[DescribedDelegationTokenRenewer]
    """Who may renew it besides owner and requester."""


class DescribedDelegationTokenRenewer(Struct):
    """A principal that can renew the token."""

    principal_type: string
    """The kind of principal, always `User`."""
    principal_name: string
    """The user name, for example `alice`, without the kind before it."""
