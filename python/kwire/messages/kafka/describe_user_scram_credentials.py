"""DescribeUserScramCredentials (key 50): who can log in by SASL/SCRAM, never their secrets (KIP-554, Kafka 2.7)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class DescribeUserScramCredentialsRequest(
    Request["DescribeUserScramCredentialsResponse"], api_key=50, versions="0", flexible="0+"
):
    """Asks about some users, or all."""

    users: nullable[array[UserName]]
    """Which users; None or empty for all who have credentials."""


class UserName(Struct):
    """A user to look up."""

    name: string
    """The user's name; naming one twice is error 92 for that user."""


class DescribeUserScramCredentialsResponse(Message, api_key=50, versions="0", flexible="0+"):
    """The users found."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    error_code: int16
    """Why the whole request failed, e.g. 31 not permitted; 0 when the users' own codes decide."""
    error_message: nullable[string]
    """That reason in words; None or empty on success."""
    results: array[DescribeUserScramCredentialsResult]
    """One entry a user: those asked for, or all."""


class DescribeUserScramCredentialsResult(Struct):
    """One user and the credentials kept for them."""

    user: string
    """The user's name."""
    error_code: int16
    """0, 91 has no credentials, 92 was named twice."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
    credential_infos: array[CredentialInfo]
    """At most one credential for each mechanism."""


class CredentialInfo(Struct):
    """A credential, without what could be used to log in."""

    mechanism: int8
    """The hash it is made for: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    iterations: int32
    """How often the password was hashed; more makes guessing slower."""
