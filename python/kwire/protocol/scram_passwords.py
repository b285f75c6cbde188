"""Salted passwords of SCRAM (RFC 5802), which brokers store and clients prove to know. Loads nothing of SASL."""

from __future__ import annotations

import hashlib

from kwire._util.light_typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from kwire._util.secret import Secret

ScramName: TypeAlias = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]

HASHES: dict[str, str] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS = 4096
"""The least that RFC 7677 and Kafka allow. Fewer would let a false broker try passwords quickly."""
MAX_ITERATIONS = 100_000
"""The most that is computed, about 0.1 s. Kafka stores at most 16,384; a false broker could ask for more."""

SALT_BYTES = 24
"""The length of new salts."""


def salted_password(name: str, password: Secret, salt: bytes, iterations: int) -> bytes:
    """Return the salted password, which AlterUserScramCredentials (KIP-554) stores.

    Args:
        name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        iterations: from 4096 on.
    """
    return hashlib.pbkdf2_hmac(HASHES[name], password.reveal().encode(), salt, iterations)
