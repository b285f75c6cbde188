"""Delegation tokens (KIP-48)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.secret import Secret

__all__ = ["DelegationToken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationToken:
    """A delegation token. Times are in milliseconds since 1970.

    Attributes:
        token_id: its public id, the user name of a login with SCRAM.
        owner: the principal that a login with the token acts as, such as `User:alice`.
        requester: the principal that created it; None from brokers before Kafka 3.3.
        renewers: other principals that may renew it.
        issue_timestamp_ms: when it was created.
        expiry_timestamp_ms: when it expires unless it is renewed.
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
