"""Voters of the KRaft quorum, as arguments name them: node id, directory id, and listeners."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client import Endpoint
from kwire.uuids import uuid_from_text
from kwire_admin.operations.parameters import PORT, Conflict, NotFound, Syntax

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from kwire.client.admin import QuorumReplica

DIRECTORY_ID = Syntax("[A-Za-z0-9_-]{22}(?:==)?", "a directory id: write the 22 characters of quorum describe")
_GROUP = "[0-9A-Fa-f]{1,4}"
_COMPRESSED = "|".join(
    f"{f'{_GROUP}(?::{_GROUP}){{{before - 1}}}' if before else ''}::(?:{_GROUP}(?::{_GROUP}){{0,{6 - before}}})?"
    for before in range(7)
)
_LABEL = "[A-Za-z0-9_-]{1,63}"
LISTENER = Syntax(
    # A port is required, as a default port would belong to another listener.
    rf"([^:]+)://((?:\[(?:{_GROUP}(?::{_GROUP}){{7}}|{_COMPRESSED})\]|{_LABEL}(?:\.{_LABEL})*\.?):{PORT})",
    "a listener: write NAME://HOST:PORT, such as CONTROLLER://host:9093",
)


def parse_directory_id(text: str) -> UUID:
    """Return a directory id from the 22 characters that Kafka and `quorum describe` print.

    Raises:
        InvalidArgument: the text is not a directory id.
    """
    return uuid_from_text(DIRECTORY_ID.match(text).string)


def parse_listeners(texts: Sequence[str]) -> Mapping[str, Endpoint]:
    """Return addresses by name of the listener from texts such as `CONTROLLER://host:9093`.

    Raises:
        InvalidArgument: a text is not a listener.
    """
    listeners: dict[str, Endpoint] = {}
    for text in texts:
        name, address = LISTENER.match(text).groups()
        listeners[name] = Endpoint.parse(address)
    return listeners


def directory_of(node: int, replicas: Sequence[QuorumReplica], role: str) -> UUID:
    """Return the directory id of a node that the quorum lists once.

    Args:
        role: the role of the replicas, such as `observer`.

    Raises:
        NotFound: the quorum does not list the node.
        Conflict: it lists the node with several directories or with none.
    """
    directory_ids = [replica.directory_id for replica in replicas if replica.id == node]
    if not directory_ids:
        listed = ", ".join(sorted({str(replica.id) for replica in replicas})) or "no node"
        raise NotFound(f"the quorum has {listed} as {role}, not node {node}")
    [directory, *others] = directory_ids
    if directory is None or others:
        directories = ", ".join(map(str, directory_ids)) if others else "not reported"
        raise Conflict(f"the directory id of {role} {node} is not unique ({directories}): give --directory")
    return directory
