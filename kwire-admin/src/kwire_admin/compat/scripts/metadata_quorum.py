"""`kafka-metadata-quorum`, and the properties file of a controller that it adds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kwire._util.properties import parse_properties
from kwire._util.text_files import EncodingError, read_properties
from kwire.client.security.known_keys import is_known
from kwire.protocol.endpoint import Endpoint
from kwire.uuids import uuid_from_text, uuid_to_text
from kwire_admin.compat.commands import choose_command, need_arguments, read_number
from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kwire.client.admin import QuorumDescription, QuorumReplica
    from kwire_admin.compat.script import ScriptRun

ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
"""Stands for a directory without an id."""
NO_CONTROLLER = "Is this a valid controller configuration file?"
HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


async def run(run: ScriptRun) -> None:
    """Describe the quorum of KRaft controllers, or change its voters.

    Raises:
        ScriptUsageError: the command is unknown or missing.
        ScriptFailed: the arguments do not fit together, or the file of a controller is incomplete.
    """
    await choose_command("kafka-metadata-quorum", run.values, COMMANDS)(run)


async def _describe(run: ScriptRun) -> None:
    values = run.values
    if "status" in values and "replication" in values:
        raise ScriptFailed("Only one of --status or --replication should be specified with describe sub-command")
    if "status" in values and "human-readable" in values:
        raise ScriptFailed("The option --human-readable is only supported along with --replication")
    if "status" not in values and "replication" not in values:
        raise ScriptFailed("One of --status or --replication must be specified with describe sub-command")
    admin = await run.admin()
    quorum = await admin.describe_quorum()
    if "status" in values:
        cluster = await admin.describe_cluster()
        _print_status(run, quorum, cluster.cluster_id or "")
    else:
        _print_replication(run, quorum, human="human-readable" in values)


async def _add(run: ScriptRun) -> None:
    file = run.values.get("command-config")
    if file is None:
        raise ScriptFailed(
            "You must supply the configuration file of the controller you are adding when using add-controller."
        )
    controller = _read_controller(Path(file))
    dry_run = "dry-run" in run.values
    admin = await run.admin(properties=controller.client_properties)
    # Kafka's script checks nothing in a dry run, so it announces changes that it cannot make.
    await admin.add_raft_voter(controller.id, controller.directory_id, controller.listeners, validate_only=dry_run)
    endpoints = ", ".join(f"{name}://{endpoint}" for name, endpoint in controller.listeners.items())
    run.print(
        f"{'DRY RUN of adding' if dry_run else 'Added'} controller {controller.id} with directory id "
        f"{uuid_to_text(controller.directory_id)} and endpoints: {endpoints}"
    )


async def _remove(run: ScriptRun) -> None:
    script = "kafka-metadata-quorum"
    need_arguments(script, run.values, "--controller-id/-i", "--controller-directory-id/-d")
    id, directory = read_number(script, run.values, "--controller-id/-i"), run.values.get("controller-directory-id")
    assert id is not None
    assert directory is not None
    if id < 0:
        raise ScriptFailed(f"Invalid negative --controller-id: {id}")
    try:
        directory_id = uuid_from_text(directory)
    except ValueError as error:
        raise ScriptFailed(f"Failed to parse --controller-directory-id: {error}") from None
    dry_run = "dry-run" in run.values
    admin = await run.admin()
    await admin.remove_raft_voter(id, directory_id, validate_only=dry_run)
    if "unregister" in run.values:
        await admin.unregister_controller(id, validate_only=dry_run)
    # Kafka's own script has the two blanks as well.
    run.print(f"{'DRY RUN of removing' if dry_run else 'Removed'}  KRaft controller {id} with directory id {directory}")


COMMANDS = {"describe": _describe, "add-controller": _add, "remove-controller": _remove}


def _print_status(run: ScriptRun, quorum: QuorumDescription, cluster_id: str) -> None:
    leader = next((voter for voter in quorum.voters if voter.id == quorum.leader), None)
    end = leader.log_end_offset if leader is not None else 0
    slowest = max(quorum.voters, key=lambda each: end - each.log_end_offset)
    behind = 0
    if leader is not None and slowest.id != quorum.leader and slowest.last_caught_up_ms is not None:
        behind = (leader.last_caught_up_ms or int(time.time() * 1000)) - slowest.last_caught_up_ms
    for title, value in (
        ("ClusterId:", cluster_id),
        ("LeaderId:", quorum.leader),
        ("LeaderEpoch:", quorum.leader_epoch),
        ("HighWatermark:", quorum.high_watermark),
        ("MaxFollowerLag:", end - min(voter.log_end_offset for voter in quorum.voters)),
        ("MaxFollowerLagTimeMs:", behind),
        ("CurrentVoters:", _nodes(quorum.voters)),
        ("CurrentObservers:", _nodes(quorum.observers)),
    ):
        run.print(f"{title:<24}{value}")


def _nodes(replicas: tuple[QuorumReplica, ...]) -> str:
    import json

    nodes = []
    for replica in replicas:
        node: dict[str, object] = {"id": replica.id, "directoryId": _directory(replica)}
        if replica.listeners:
            node["endpoints"] = [f"{name}://{endpoint}" for name, endpoint in replica.listeners.items()]
        nodes.append(json.dumps(node))
    return f"[{', '.join(nodes)}]"


def _print_replication(run: ScriptRun, quorum: QuorumDescription, *, human: bool) -> None:
    end = next((voter.log_end_offset for voter in quorum.voters if voter.id == quorum.leader), 0)
    rows: list[tuple[object, ...]] = [HEADER]
    for status, replicas in (("Follower", quorum.voters), ("Observer", quorum.observers)):
        rows += (
            (
                replica.id,
                _directory(replica) or ZERO,
                replica.log_end_offset,
                end - replica.log_end_offset,
                _when(replica.last_fetch_ms, human=human),
                _when(replica.last_caught_up_ms, human=human),
                "Leader" if replica.id == quorum.leader else status,
            )
            for replica in replicas
        )
    rows.sort(key=lambda row: ("Status", "Leader", "Follower", "Observer").index(str(row[-1])))
    run.print_columns(rows)


def _directory(replica: QuorumReplica) -> str | None:
    return None if replica.directory_id is None else uuid_to_text(replica.directory_id)


def _when(milliseconds: int | None, *, human: bool) -> str:
    if milliseconds is None:
        return "-1"
    return f"{int(time.time() * 1000) - milliseconds} ms ago" if human else str(milliseconds)


class NewVoter(NamedTuple):
    """A controller that is to become a voter.

    Attributes:
        id: its node id.
        directory_id: the id of its metadata directory.
        listeners: its addresses by name of the listener.
        client_properties: the keys of clients in the file, with which Kafka's script connects.
    """

    id: int
    directory_id: UUID
    listeners: Mapping[str, Endpoint]
    client_properties: Mapping[str, str]


def _read_controller(path: Path) -> NewVoter:
    """Read the properties file of a controller, and the `meta.properties` in its metadata directory.

    Raises:
        ScriptFailed: a file cannot be read or lacks something. The texts equal those of Kafka's script.
    """
    properties = _read(path)
    id = properties.get("node.id")
    if id is None:
        raise ScriptFailed(f"node.id not found in configuration file. {NO_CONTROLLER}")
    if not id.isdigit():
        raise ScriptFailed(f"node.id was negative in configuration file. {NO_CONTROLLER}")
    if "controller" not in properties.get("process.roles", ""):
        raise ScriptFailed(f"process.roles did not contain 'controller' in configuration file. {NO_CONTROLLER}")
    of_clients = {key: value for key, value in properties.items() if is_known(key)}
    return NewVoter(int(id), _directory_id(properties), _listeners(properties), of_clients)


def _read(path: Path) -> dict[str, str]:
    try:
        return parse_properties(read_properties(path))
    except OSError as error:
        raise ScriptFailed(f"Properties file {path} cannot be read: {error.strerror}") from None
    except EncodingError as error:
        raise ScriptFailed(f"Properties file {path} cannot be read: {error}") from None


def _directory_id(properties: Mapping[str, str]) -> UUID:
    folder = properties.get("metadata.log.dir") or properties.get("log.dirs", "").split(",")[0].strip()
    if not folder:
        raise ScriptFailed(f"Neither metadata.log.dir nor log.dirs were found. {NO_CONTROLLER}")
    file = Path(folder) / "meta.properties"
    if not file.exists():
        raise ScriptFailed(f"Unable to read meta.properties from {folder}")
    text = _read(file).get("directory.id")
    if text is None:
        raise ScriptFailed(f"No directory id found in {folder}")
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise ScriptFailed(f"{file}: {error}") from None


def _listeners(properties: Mapping[str, str]) -> dict[str, Endpoint]:
    """Return the advertised address of each controller listener, or that on which it listens."""
    names = properties.get("controller.listener.names")
    if names is None:
        raise ScriptFailed(f"controller.listener.names was not found. {NO_CONTROLLER}")
    addresses: dict[str, str] = {}
    for key in ("listeners", "advertised.listeners"):
        for text in filter(None, map(str.strip, properties.get(key, "").split(","))):
            name, _, address = text.partition("://")
            addresses[name.upper()] = address
    listeners = {}
    for name in (name.strip().upper() for name in names.split(",")):
        if name not in addresses:
            raise ScriptFailed(f"Cannot find information about controller listener name: {name}")
        address = addresses[name]
        try:
            listeners[name] = Endpoint.parse(f"localhost{address}" if address.startswith(":") else address)
        except ValueError as error:
            raise ScriptFailed(f"listener {name}: {error}") from None
    return listeners


metadata_quorum = Script(
    "kafka-metadata-quorum",
    ("org.apache.kafka.tools.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("status", "A short summary of the quorum status."),
        ScriptOption("replication", "Detailed information about the status of replication."),
        ScriptOption("human-readable", "Print human-readable timestamps."),
        ScriptOption("controller-id", "The id of the controller to remove.", "CONTROLLER_ID", "Integer", short="i"),
        ScriptOption("controller-directory-id", "Directory ID of the controller to remove.", "UUID", short="d"),
        ScriptOption("unregister", "Also unregister the controller that is removed."),
        ScriptOption("dry-run", "True if we should print what would be done, but not do it."),
    ),
    run,
    "",
    fails_on_stdout=False,
)
