"""DescribeUserScramCredentials (key 50): users with SASL/SCRAM credentials, without secrets (KIP-554, Kafka 2.7)."""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class DescribeUserScramCredentialsRequest(
    Request["DescribeUserScramCredentialsResponse"], api_key=50, versions="0", flexible="0+"
):
    """Requests the credentials of users."""

    users: nullable[array[UserName]]
    """The users to describe; None or empty for all users with credentials."""


class UserName(Struct):
    """A user to describe."""

    name: string
    """The user name; error 92 if it is listed twice."""


class DescribeUserScramCredentialsResponse(Message, api_key=50, versions="0", flexible="0+"):
    """The described users."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request, for example 31 not authorized; 0 otherwise."""
    error_message: nullable[string]
    """The message of that error; None or empty if there was no error."""
    results: array[DescribeUserScramCredentialsResult]
    """One result for each user of the request, or for all users."""


class DescribeUserScramCredentialsResult(Struct):
    """A user and its credentials."""

    user: string
    """The name of the described user."""
    error_code: int16
    """0; 91 no credentials; 92 listed twice."""
    error_message: nullable[string]
    """The error message; None on success."""
    credential_infos: array[CredentialInfo]
    """The credentials, at most one for each mechanism."""


class CredentialInfo(Struct):
    """A credential without its secrets."""

    mechanism: int8
    """The mechanism of the credential: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    iterations: int32
    """The number of hash iterations. More iterations slow down guessing."""
