"""Which entries of a batch count, when it names a topic more than once.

Rules of this file: pure functions. The answer to a batch is a map: one entry for each topic, in the order in which they
are first named. Of several commands for one topic the last counts, silently; in strict batches, and in deletions, none
does, and the topic is answered with 1012 (decision D9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kwire.cluster.controller.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["distinct"]

Command = TypeVar("Command")


def distinct(
    commands: Iterable[Command], name: Callable[[Command], str], *, strict: bool
) -> dict[str, Command | AdminError]:
    """By topic, in order of first mention: the command that counts, or why none does."""
    chosen: dict[str, Command | AdminError] = {}
    for command in commands:
        topic = name(command)
        if strict and topic in chosen:
            reason = "the batch names the topic more than once"
            chosen[topic] = AdminError(ErrorCode.MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH, reason)
        else:
            chosen[topic] = command
    return chosen
