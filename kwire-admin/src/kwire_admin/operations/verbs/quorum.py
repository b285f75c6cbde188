"""`kafka quorum`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated, TypeAlias
from kwire.client import Endpoint
from kwire.uuids import uuid_from_text
from kwire_admin.operations.changes import ItemChange
from kwire_admin.operations.cluster_health.checks import unless_no_quorum
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import PORT, Argument, Conflict, Danger, NotFound, Option, Syntax
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

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


NodeId: TypeAlias = Annotated[int, Argument("Node id of the controller.", "ID", minimum=0, maximum=2**31 - 1)]
Directory: TypeAlias = Annotated[
    str | None,
    Option("The id of its metadata directory [default: as the quorum reports it].", "ID", syntax=DIRECTORY_ID),
]


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica of the metadata log.

    Attributes:
        node: the id of the controller or broker.
        role: `leader`, `voter`, or `observer`.
        log_end: the end of its log.
        lag: number of records behind the leader.
        caught_up_ms: last time at which it had the whole log, in milliseconds since 1970; None if it is not known.
        directory: the id of its directory; None if it is not reported.
        leader_epoch: the epoch of the leader.
        listeners: the addresses of a voter by name of the listener; None for an observer, or if they are not reported.
    """

    node: int
    role: str
    log_end: int
    lag: int
    caught_up_ms: int | None = field(metadata=column(unit="time"))
    directory: UUID | None
    leader_epoch: int
    listeners: Mapping[str, str] | None = field(metadata=column(table=False))


@operation(dialects=("kafka",), examples=("quorum describe",))
async def describe(run: Run) -> Rows[Replica]:
    """Describe the replicas of the KRaft metadata log."""
    quorum = await unless_no_quorum(run.admin, run.admin.describe_quorum, is_short=True)
    if quorum.leader < 0:
        run.warn("the controller quorum has no leader, so this is what one broker knows of it.")
    end = max((voter.log_end_offset for voter in quorum.voters if voter.id == quorum.leader), default=0)
    replicas = [
        *((("leader" if voter.id == quorum.leader else "voter"), voter) for voter in quorum.voters),
        *(("observer", observer) for observer in quorum.observers),
    ]
    return [
        Replica(
            replica.id,
            role,
            replica.log_end_offset,
            max(end - replica.log_end_offset, 0),
            replica.last_caught_up_ms,
            replica.directory_id,
            quorum.leader_epoch,
            {name: str(endpoint) for name, endpoint in replica.listeners.items()} or None,
        )
        for role, replica in replicas
    ]


@operation(Danger.CHANGES, dialects=("kafka",), examples=("quorum add-voter 4 --listener CONTROLLER://host-4:9093",))
async def add_voter(
    run: Run,
    node: NodeId,
    listener: Annotated[
        list[str], Option("An address of the controller.", "NAME://HOST:PORT", syntax=LISTENER, item="listener")
    ],
    directory: Directory = None,
) -> Rows[ItemChange]:
    """Add a controller, which must be running, to the voters of the KRaft quorum (KIP-853)."""
    listeners = parse_listeners(listener)
    quorum = await run.admin.describe_quorum()
    id = parse_directory_id(directory) if directory is not None else directory_of(node, quorum.observers, "observer")
    await run.admin.add_raft_voter(node, id, listeners, validate_only=True)
    if not run.dry_run:
        await run.admin.add_raft_voter(node, id, listeners)
    return [ItemChange(str(node), "would be added" if run.dry_run else "added", 1)]


@operation(Danger.DESTROYS, dialects=("kafka",), examples=("quorum remove-voter 4 --yes",))
async def remove_voter(run: Run, node: NodeId, directory: Directory = None) -> Rows[ItemChange]:
    """Remove a controller from the voters of the KRaft quorum (KIP-853)."""
    voters = (await run.admin.describe_quorum()).voters
    id = parse_directory_id(directory) if directory is not None else directory_of(node, voters, "voter")
    await run.admin.remove_raft_voter(node, id, validate_only=True)
    if not run.dry_run:
        run.confirm(f"Remove node {node} from the voters?")
        await run.admin.remove_raft_voter(node, id)
    return [ItemChange(str(node), "would be removed" if run.dry_run else "removed", 1)]


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
