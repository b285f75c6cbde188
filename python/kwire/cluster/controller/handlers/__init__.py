"""From a message to an answer: one file an API, and ``answer``, which finds the right one.

Rules of this package: a handler sees a decoded message, the version it came in, the client's id and an
``AdminBackend``; it gives back a message of the same version. It decides nothing about the cluster: it translates.
Handlers are imported when a message of theirs first comes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.cluster.controller.backend import AdminBackend
    from kwire.declare import Message

    Handler: TypeAlias = Callable[["Asked", AdminBackend], Awaitable[Message]]

__all__ = ["Asked", "answer", "handled"]

_FILES = {
    13: "create_topic",
    14: "alter_topic",
    15: "delete_topic",
    1001: "describe_topic",
    1002: "list_topics",
    1003: "preferred_replica_leader_election",
    1004: "reassign_partitions",
    1005: "verify_reassign_partitions",
}


class Asked(NamedTuple):
    """A request. ``client_id``: None when its header has none."""

    message: Message
    version: int
    client_id: str | None = None


def handled() -> frozenset[int]:
    """The keys of the requests that only the controller answers."""
    return frozenset(_FILES)


async def answer(asked: Asked, backend: AdminBackend) -> Message:
    """The response, in the version of the request. Errors of the backend are codes in it, never exceptions.

    KeyError for a message that is not for the controller.
    """
    handler: Handler = import_module(f"kwire.cluster.controller.handlers.{_FILES[type(asked.message).api_key]}").handle
    return await handler(asked, backend)
