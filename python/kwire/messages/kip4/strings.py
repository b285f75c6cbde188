"""Checks of strings that come from outside the protocol, such as znodes, before they are sent.

One string that cannot be encoded would block the whole message.
"""

from __future__ import annotations

from kwire.declare.wire_types import MAX_STRING_LENGTH

__all__ = ["MAX_STRING_LENGTH", "is_encodable_config", "is_encodable_string", "shortened"]

MAX_DESCRIPTION_LENGTH = 1_000
"""Characters of an error description: enough for people, and at most 4,000 bytes."""


def is_encodable_string(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8 (lone surrogates cannot) and is short enough."""
    try:
        return len(text.encode()) <= MAX_STRING_LENGTH
    except UnicodeEncodeError:
        return False


def shortened(description: str) -> str:
    """Return an error description that every response can carry."""
    if len(description) > MAX_DESCRIPTION_LENGTH:
        description = f"{description[: MAX_DESCRIPTION_LENGTH - 4]} ..."
    return description.encode(errors="backslashreplace").decode()


def is_encodable_config(key: str, value: str) -> bool:
    """Return whether `key=value`, the form of the oldest drafts, fits a protocol string."""
    return is_encodable_string(f"{key}={value}")
