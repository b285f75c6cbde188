"""What a topic may be called (Kafka 3.9, ``org.apache.kafka.common.internals.Topic``).

Names become parts of metric names, where ``.`` and ``_`` are one character: two topics must not differ in that alone.
"""

from __future__ import annotations

import re

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode

__all__ = ["LONGEST_NAME", "can_be_a_topic", "can_collide", "check_name", "collision_key"]

LONGEST_NAME = 249
"""A partition's folder is the name, a dash and a number, and file names end at 255 bytes."""

_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Errors: AdminError 1010."""
    reason = None
    if not name:
        reason = "a topic's name cannot be empty"
    elif name in {".", ".."}:
        reason = "a topic cannot be called '.' or '..'"
    elif len(name) > LONGEST_NAME:
        reason = f"a topic's name has at most {LONGEST_NAME} characters, this one {len(name):,}"
    elif _NAME.fullmatch(name) is None:
        reason = "a topic's name is made of the characters a-z A-Z 0-9 . _ -"
    if reason is not None:
        raise AdminError(ErrorCode.INVALID_ARGUMENT_TOPIC_NAME, reason)


def can_be_a_topic(name: str | None) -> bool:
    """Whether a znode can have this name, and a string of the protocol hold it: what others may have made."""
    return (
        name is not None and 0 < len(name) <= LONGEST_NAME and name not in {".", ".."} and not {"/", "\0"} & set(name)
    )


def can_collide(name: str) -> bool:
    """Whether another name can have the same key."""
    return "." in name or "_" in name


def collision_key(name: str) -> str:
    """Equal for names that cannot be told apart among metrics."""
    return name.replace(".", "_")
