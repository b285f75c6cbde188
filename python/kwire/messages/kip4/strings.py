"""What a string of the protocol can hold.

Rules of this file: for texts that come from elsewhere than the wire, such as nodes of ZooKeeper, and shall go there:
one that cannot would keep back all that is told along with it.
"""

from __future__ import annotations

__all__ = ["LONGEST_STRING", "can_be_a_setting", "can_be_a_string"]

LONGEST_STRING = 0x7FFF
"""Bytes of UTF-8: the length before them is an int16."""


def can_be_a_string(text: str) -> bool:
    """Whether it has a form in UTF-8 (half a surrogate pair has none), and one that is short enough."""
    try:
        return len(text.encode()) <= LONGEST_STRING
    except UnicodeEncodeError:
        return False


def can_be_a_setting(key: str, value: str) -> bool:
    """Whether ``key=value``, as the oldest drafts write it, can be a string; key and value then can as well."""
    return can_be_a_string(f"{key}={value}")
