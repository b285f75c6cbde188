"""AlterUserScramCredentials (key 51): sets and removes passwords for SASL/SCRAM (KIP-554, Kafka 2.7).

The password itself never travels: the client sends what RFC 5802 derives from it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, nullable, string


class AlterUserScramCredentialsRequest(
    Request["AlterUserScramCredentialsResponse"], api_key=51, versions="0", flexible="0+"
):
    """Changes credentials of some users; a user may have one for each mechanism."""

    deletions: array[ScramCredentialDeletion]
    """The credentials to remove; one that does not exist is error 91."""
    upsertions: array[ScramCredentialUpsertion]
    """The credentials to create or replace; one that is named twice, or deleted too, is error 92."""


class ScramCredentialDeletion(Struct):
    """A credential to remove."""

    name: string
    """The user who loses it."""
    mechanism: int8
    """Which of the user's credentials: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""


class ScramCredentialUpsertion(Struct):
    """A credential to create or replace."""

    name: string
    """The user who gets it."""
    mechanism: int8
    """The hash it is made for: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    iterations: int32
    """How often the password was hashed, 4096 to 16384; more makes guessing slower, and logging in as well."""
    salt: bytes
    """Random bytes that were mixed in, chosen anew by the client for each password."""
    salted_password: bytes
    """The result, ``SaltedPassword`` of RFC 5802. As good as the password itself: send it over TLS only."""


class AlterUserScramCredentialsResponse(Message, api_key=51, versions="0", flexible="0+"):
    """What became of each user."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    results: array[AlterUserScramCredentialsResult]
    """One entry a user, however many credentials the request changed for them."""


class AlterUserScramCredentialsResult(Struct):
    """Whether the credentials of one user were changed: all that were asked for, or none."""

    user: string
    """Whose credentials these are; named once even when several were changed."""
    error_code: int16
    """0, 31 not permitted, 33 unknown mechanism, 91 no such credential, 92 named twice, 93 iterations out of range."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
