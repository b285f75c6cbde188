"""Uuids as text in Kafka's form: ids of topics, directories, and clusters (`org.apache.kafka.common.Uuid`)."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["is_uuid", "uuid_from_text", "uuid_to_text"]

ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
SIZE = 16
"""Bytes of a uuid."""
MAX_LENGTH = 24
"""Characters of an id with padding. Kafka prints ids without padding and accepts both forms."""


def is_uuid(value: object) -> bool:
    """Return whether a value is a `uuid.UUID`. The import of `uuid` takes longer than a small command."""
    module = sys.modules.get("uuid")
    return module is not None and isinstance(value, module.UUID)


def uuid_to_text(uuid: UUID) -> str:
    """Return the 22 characters of URL-safe base64, without padding, that Kafka prints."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(uuid.bytes).decode("ascii").rstrip("=")


def uuid_from_text(text: str) -> UUID:
    """Return the uuid that Kafka reads from a text (`Uuid.fromString`).

    Like Kafka, it ignores the last four bits of the last character, which do not belong to the uuid.

    Raises:
        ValueError: the text is not an id. The text equals Kafka's, and scripts print it.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"Input string with prefix `{text[:MAX_LENGTH]}` is too long to be decoded as a base64 UUID")
    from base64 import urlsafe_b64decode
    from uuid import UUID

    digits = text.rstrip("=")
    # Python's decoder drops characters outside of the alphabet, except for + and /, which it takes for - and _.
    for character in digits:
        if character not in ALPHABET:
            raise ValueError(f"Illegal base64 character {ord(character):x}")
    if len(digits) % 4 == 1:
        raise ValueError("Last unit does not have enough valid bits")
    padded = digits + "=" * (-len(digits) % 4)
    if text not in (digits, padded):
        raise ValueError("Input byte array has wrong 4-byte ending unit")
    data = urlsafe_b64decode(padded)
    if len(data) != SIZE:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, which is not equal to the expected {SIZE} "
            "bytes of a base64-encoded UUID"
        )
    return UUID(bytes=data)
