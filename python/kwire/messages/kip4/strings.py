"""Checks of strings that come from outside the protocol, such as znodes, before they are sent.

One string that cannot be encoded would block the whole message.
"""

from __future__ import annotations

__all__ = ["LONGEST_STRING", "can_be_a_setting", "can_be_a_string"]

LONGEST_STRING = 0x7FFF
"""The maximum length in UTF-8 bytes, which is stored as an int16."""


def can_be_a_string(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8 (lone surrogates cannot) and is short enough."""
    try:
        return len(text.encode()) <= LONGEST_STRING
    except UnicodeEncodeError:
        return False


def can_be_a_setting(key: str, value: str) -> bool:
    """Return whether `key=value`, the form of the oldest drafts, fits a protocol string."""
    return can_be_a_string(f"{key}={value}")
