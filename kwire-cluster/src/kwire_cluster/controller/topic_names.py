"""Valid topic names (Kafka 3.9, `org.apache.kafka.common.internals.Topic`).

Topic names become parts of metric names, in which `.` and `_` are the same character. Names that differ only in these
characters collide.
"""

from __future__ import annotations

import re

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError

MAX_NAME_LENGTH = 249
"""A partition's directory is named `<topic>-<partition>`, and file names have at most 255 bytes."""

_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Raise CommandError 1010 for an invalid topic name."""
    reason = None
    if not name:
        reason = "the topic name is empty"
    elif name in {".", ".."}:
        reason = "the topic name cannot be '.' or '..'"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the topic name has {len(name):,} characters: at most {MAX_NAME_LENGTH} are allowed"
    elif _NAME.fullmatch(name) is None:
        reason = f"invalid topic name {name!r}: only the characters a-z A-Z 0-9 . _ - are allowed"
    if reason is not None:
        raise CommandError(ErrorCode.INVALID_ARGUMENT_TOPIC_NAME, reason)


def is_possible_topic_name(name: str | None) -> bool:
    """Return whether a znode and a protocol string can have this name: other clients may have created such a topic."""
    return (
        name is not None
        and 0 < len(name) <= MAX_NAME_LENGTH
        and name not in {".", ".."}
        and not {"/", "\0"} & set(name)
    )


def can_collide(name: str) -> bool:
    """Return whether another name can have the same collision key."""
    return "." in name or "_" in name


def collision_key(name: str) -> str:
    """Return a key that is equal for colliding names."""
    return name.replace(".", "_")
