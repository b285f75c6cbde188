"""CreateDelegationToken (key 38): create a temporary credential, for example for worker processes (KIP-48, Kafka 1.1).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
    3  tokens for other users (KIP-373, Kafka 3.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class CreateDelegationTokenRequest(Request["CreateDelegationTokenResponse"], api_key=38, versions="0-3", flexible="2+"):
    """Creates a token. The connection must be authenticated, and not by a token."""

    owner_principal_type: nullable[string] = field(since=3, default="")
    """The principal type of the owner, `User`; None or empty if the requester is the owner."""
    owner_principal_name: nullable[string] = field(since=3, default="")
    """The principal name of the owner; None or empty if the requester is the owner."""
    renewers: array[CreatableRenewers]
    """The principals that may renew the token besides owner and requester; error 67 unless of type `User`."""
    max_lifetime_ms: int64
    """The time in milliseconds after which the token cannot be renewed; -1 for the maximum of the cluster."""


class CreatableRenewers(Struct):
    """A principal that may renew the token."""

    principal_type: string
    """The type of the renewer, always `User`."""
    principal_name: string
    """The user name of the renewer, for example `alice`, without the type."""


class CreateDelegationTokenResponse(Message, api_key=38, versions="0-3", flexible="2+"):
    """The created token. Clients log in with its id and `hmac` through SASL/SCRAM."""

    error_code: int16
    """0; 61 tokens are disabled; 64 not allowed on this connection; 65 not authorized for the owner; 67 invalid
    principal type."""
    principal_type: string
    """The principal type of the owner, always `User`."""
    principal_name: string
    """The owner of the token: clients that log in with it act as this user."""
    token_requester_principal_type: string = field(since=3, default="")
    """The principal type of the requester, always `User`."""
    token_requester_principal_name: string = field(since=3, default="")
    """The user that requested the token: the owner, or a user allowed to create tokens for the owner."""
    issue_timestamp_ms: int64
    """The creation time in milliseconds since 1970."""
    expiry_timestamp_ms: int64
    """The time when the token expires unless it is renewed, in milliseconds since 1970."""
    max_timestamp_ms: int64
    """The latest possible expiry time, in milliseconds since 1970."""
    token_id: string
    """The public id of the token, used as the user name."""
    hmac: bytes = field(sensitive=True)
    """The secret of the token; its base64 form is used as the password."""
    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
