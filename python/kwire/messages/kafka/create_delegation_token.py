"""CreateDelegationToken (key 38): a password for a while, for workers not trusted with a real one (KIP-48, Kafka 1.1).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
    3  tokens in the name of another user (KIP-373, Kafka 3.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class CreateDelegationTokenRequest(Request["CreateDelegationTokenResponse"], api_key=38, versions="0-3", flexible="2+"):
    """Asks for a token; the connection must be authenticated, and not by a token."""

    owner_principal_type: nullable[string] = field(since=3, default="")
    """The kind of owner, ``User``; None or empty when the caller shall be the owner."""
    owner_principal_name: nullable[string] = field(since=3, default="")
    """In whose name the token shall speak; None or empty for the caller's own."""
    renewers: array[CreatableRenewers]
    """Who may renew it besides owner and caller; of type ``User`` only, else error 67."""
    max_lifetime_ms: int64
    """Milliseconds after which it cannot be renewed; -1 for the most the cluster allows, which is the limit anyway."""


class CreatableRenewers(Struct):
    """A principal that may prolong the token."""

    principal_type: string
    """The kind of principal, ``User``."""
    principal_name: string
    """Who it is, e.g. ``alice``, without the kind before it."""


class CreateDelegationTokenResponse(Message, api_key=38, versions="0-3", flexible="2+"):
    """The token: log in with its id and ``hmac`` by SASL/SCRAM."""

    error_code: int16
    """0, 61 tokens are disabled, 64 not on this kind of connection, 65 not for that owner, 67 bad principal type."""
    principal_type: string
    """The kind of owner, ``User``."""
    principal_name: string
    """In whose name the token speaks."""
    token_requester_principal_type: string = field(since=3, default="")
    """The kind of principal that asked for it, ``User``."""
    token_requester_principal_name: string = field(since=3, default="")
    """Who asked for it: the owner, or somebody permitted to create tokens for the owner."""
    issue_timestamp_ms: int64
    """When it was made, in milliseconds since 1970."""
    expiry_timestamp_ms: int64
    """When it ends unless it is renewed before, in milliseconds since 1970."""
    max_timestamp_ms: int64
    """When it ends in any case, in milliseconds since 1970."""
    token_id: string
    """Its public name, the user name when logging in by it."""
    hmac: bytes
    """Its secret; in base64 the password when logging in by it."""
    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
