"""What requests do: check all against the state, write, answer; a topic at a time or many at once.

Rules of this file: one function for each verb of ``AdminBackend``, run by the consumer of the queue. NO_ERROR means
that the work is written down, so that it survives this controller; whatever takes longer is left to ``progress``.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.cluster.controller.backend import Outcome, TopicMoves, TopicNames
from kwire.cluster.controller.batches import distinct
from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.fenced_writer import Conflict, Deposed
from kwire.cluster.controller.pending_operations import begin_pending, prefer_first_replicas
from kwire.cluster.controller.replication_commands import (
    MOVING,
    chosen_partitions,
    move_status,
    running_moves,
    targets,
)
from kwire.cluster.controller.state import NO_NODE, Topic
from kwire.cluster.controller.topic_alteration import altered_topic, check_single_instruction, known_topic
from kwire.cluster.controller.topic_creation import created_topic
from kwire.cluster.controller.topic_steps import move_leaders
from kwire.cluster.controller.topic_writes import TopicWrites, writes
from kwire.cluster.zookeeper.admin_requests import (
    PartitionReassignment,
    PreferredElection,
    Reassignment,
    TopicPartition,
)
from kwire.cluster.zookeeper.configs import EntityConfig
from kwire.cluster.zookeeper.errors import (
    ConnectionLost,
    NodeExists,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
)
from kwire.cluster.zookeeper.operations import Create, Set
from kwire.cluster.zookeeper.topics import DeletionMarker
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import TopicReassignment

if TYPE_CHECKING:
    import random
    from collections.abc import Coroutine, Mapping, Sequence

    from kwire.cluster.controller.controller_context import ControllerContext
    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions

log = logging.getLogger("kwire.cluster.controller")

Command = TypeVar("Command")


async def create_topics(
    office: ControllerContext, creations: Sequence[TopicCreation], client_id: str | None, rng: random.Random
) -> list[Outcome]:
    """New topics, with leaders."""
    commands = distinct(creations, lambda one: one.topic_name, strict=office.settings.batch_strict)
    refused: dict[str, AdminError] = {}
    wanted: dict[str, Topic] = {}
    planned: dict[str, TopicWrites] = {}
    pending: dict[str, Coroutine[Any, Any, None]] = {}
    cluster = office.cluster
    for name, command in commands.items():
        try:
            topic = created_topic(_sound(command), cluster, office.now, office.settings, rng, client_id)
        except AdminError as refusal:
            refused[name] = refusal
            continue
        cluster = replace(cluster, topics=cluster.topics.replaced([topic]))
        wanted[name] = topic
        planned[name] = writes(None, topic)
        pending[name] = office.begin(planned[name].transactions)
    failed = await office.ends(pending)
    for name in [name for name, error in failed.items() if _left_behind(name, error)]:
        # Settings that a topic which is gone has left behind, or a tool that writes them first.
        planned[name] = writes(None, wanted[name], await _config_version(office, name))
        del failed[name]
        failed |= await office.ends({name: office.begin(planned[name].transactions)})
    for name, error in failed.items():
        refused[name] = _refusal_of_creation(name, error)
        office.doubt(name)
    made = [plan.after for name, plan in planned.items() if name not in failed]
    office.unwatched.update(topic.name for topic in made)
    office.take_over(made)
    return _outcomes(commands, refused)


def _sound(command: Command | AdminError) -> Command:
    if isinstance(command, AdminError):
        raise command
    return command


def _left_behind(name: str, error: Conflict | StoreError) -> bool:
    return isinstance(error, Conflict) and error.path == EntityConfig.path("topics", name)


async def _config_version(office: ControllerContext, name: str) -> int:
    while True:
        try:
            stat = await office.store.exists(EntityConfig.path("topics", name))
        except ConnectionLost:
            continue
        except (SessionExpired, StoreClosed) as gone:
            raise Deposed(str(gone)) from gone
        return NO_NODE if stat is None else stat.version


def _refusal_of_creation(name: str, error: Conflict | StoreError) -> AdminError:
    if isinstance(error, Conflict) and isinstance(error.error, NodeExists):
        return AdminError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} exists already")
    if isinstance(error, PacketTooLarge):
        return AdminError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, f"more partitions than ZooKeeper takes: {error}")
    return _refusal_of_write(error)


def _refusal_of_write(error: Conflict | StoreError) -> AdminError:
    return AdminError(ErrorCode.ADMIN_REQUEST_FAILED, f"could not be written: {error}")


async def alter_topics(
    office: ControllerContext, alterations: Sequence[TopicAlteration], rng: random.Random
) -> list[Outcome]:
    """Settings, additional partitions, and moves that begin."""
    strict = office.settings.batch_strict
    commands = distinct(alterations, lambda one: one.topic_name, strict=strict)
    refused: dict[str, AdminError] = {}
    wanted: dict[str, Topic] = {}
    for name, command in commands.items():
        try:
            sound = _sound(command)
            if strict:
                check_single_instruction(sound)
            wanted[name] = altered_topic(sound, office.cluster, office.now, rng)
        except AdminError as refusal:
            refused[name] = refusal
    movers = [name for name, topic in wanted.items() if topic.moves and not _before(office, name).moves]
    if movers and not await _lock_reassignment(office):
        for name in movers:
            refused[name] = _another_runs()
            del wanted[name]
        movers = []
    failed = await office.write_topics(wanted.values())
    refused |= {name: _refusal_of_write(error) for name, error in failed.items()}
    if movers:
        await _list_reassignment(office, [name for name in movers if name not in failed])
    return _outcomes(commands, refused)


def _before(office: ControllerContext, name: str) -> Topic:
    topic = office.cluster.topics.get(name)
    assert topic is not None
    return topic


async def _lock_reassignment(office: ControllerContext) -> bool:
    """Make the node without entries, so that nobody else begins a reassignment; whether nobody else has.

    Each topic is then written as a whole, moves included. Should this controller end now, the next one finds what has
    begun to move in the topics themselves.
    """
    empty = Reassignment(())
    try:
        await office.writer.commit([Create(Reassignment.path(), empty.encode())])
    except Conflict:
        office.queue.look(Reassignment.path())
        return False
    office.reassignment = empty, 0
    office.with_cluster(reassigning=True)
    office.queue.look(Reassignment.path())
    return True


async def _list_reassignment(office: ControllerContext, names: Sequence[str]) -> None:
    """Write all that moves into the node, once, for tools that look there."""
    node = Reassignment(
        tuple(
            PartitionReassignment(name, index, topic.target(partition))
            for name in names
            for topic in [_before(office, name)]
            for index in topic.moves
            if (partition := topic.partition(index)) is not None
        )
    )
    try:
        await office.writer.commit([Set(Reassignment.path(), node.encode(), 0)])
    except (Conflict, PacketTooLarge) as error:  # it is for others to read: the moves themselves are written already
        log.warning("moves could not be listed: %s", error)
    else:
        office.reassignment = node, 1


async def delete_topics(office: ControllerContext, names: Sequence[str]) -> list[Outcome]:
    """Mark topics for deletion."""
    commands = distinct(names, str, strict=True)
    refused: dict[str, AdminError] = {}
    pending: dict[str, Coroutine[Any, Any, None]] = {}
    for name, command in commands.items():
        if isinstance(command, AdminError):
            refused[name] = command
        elif name not in office.cluster.topics and name not in office.cluster.unreadable:
            refused[name] = AdminError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name[:249]!r}")
        elif name not in office.cluster.marked:
            marker = DeletionMarker(name)
            pending[name] = office.writer.commit([Create(DeletionMarker.path(name), marker.encode())])
    failed = {
        name: error
        for name, error in (await office.ends(pending)).items()
        if not (isinstance(error, Conflict) and isinstance(error.error, NodeExists))  # marked by somebody else
    }
    refused |= {name: _refusal_of_write(error) for name, error in failed.items()}
    office.with_cluster(marked=office.cluster.marked.union(name for name in pending if name not in failed))
    office.queue.look(DeletionMarker.root)
    return _outcomes(commands, refused)


async def reassign(office: ControllerContext, topics: Sequence[TopicReassignment]) -> list[Outcome]:
    """Write down what shall move; it begins to move after the answer."""
    merged = _merged(topics)
    refused: dict[str, AdminError] = {}
    entries = []
    for name, one in merged.items():
        try:
            wanted = targets(name, one.partitions, office.cluster)
        except AdminError as refusal:
            refused[name] = refusal
        else:
            entries += [PartitionReassignment(name, index, replicas) for index, replicas in wanted.items()]
    if entries:
        node = Reassignment(tuple(entries))
        movers = {entry.topic for entry in entries}
        try:
            await office.writer.commit([Create(Reassignment.path(), node.encode())])
        except Conflict:
            refused |= dict.fromkeys(movers, _another_runs())
        except PacketTooLarge:
            refused |= await _reassign_at_once(office, entries)
        except StoreError as error:
            refused |= dict.fromkeys(movers, _refusal_of_write(error))
        else:
            office.reassignment = node, 0
            office.with_cluster(reassigning=True, pending=_by_partition(entries))
        office.queue.look(Reassignment.path())
    return _outcomes(merged, refused)


async def _reassign_at_once(
    office: ControllerContext, entries: Sequence[PartitionReassignment]
) -> dict[str, AdminError]:
    """More moves than a node can list are begun before the answer, as those of an alteration; what could not be."""
    if not await _lock_reassignment(office):
        return dict.fromkeys((entry.topic for entry in entries), _another_runs())
    office.with_cluster(pending=_by_partition(entries))
    await begin_pending(office)
    not_begun = {name for name, _ in office.cluster.pending}
    office.with_cluster(pending={})
    return dict.fromkeys(not_begun, AdminError(ErrorCode.ADMIN_REQUEST_FAILED, "could not be written"))


def _by_partition(entries: Sequence[PartitionReassignment]) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(entry.topic, entry.partition): entry.replicas for entry in entries}


def _another_runs() -> AdminError:
    return AdminError(ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS, "a reassignment of partitions is running")


async def moves(office: ControllerContext, topics: Sequence[TopicReassignment]) -> list[TopicMoves]:
    """How far partitions are on their way to these targets; all that moves now for none."""
    if not topics:
        running = running_moves(office.cluster)
        return [TopicMoves(name, dict.fromkeys(partitions, MOVING)) for name, partitions in running.items()]
    told = []
    for name, one in _merged(topics).items():
        try:
            told.append(TopicMoves(name, move_status(name, one.partitions, office.cluster)))
        except AdminError as refusal:
            told.append(TopicMoves(name, {}, refusal))
    return told


def _merged(topics: Sequence[TopicReassignment]) -> dict[str, TopicReassignment]:
    """A topic that is named twice is one with the partitions of both."""
    merged: dict[str, TopicReassignment] = {}
    for one in topics:
        earlier = merged.get(one.topic)
        merged[one.topic] = (
            one
            if earlier is None
            else TopicReassignment(topic=one.topic, partitions=earlier.partitions + one.partitions)
        )
    return merged


async def elect_preferred(office: ControllerContext, topics: Sequence[TopicPartitions]) -> list[Outcome]:
    """Write down which partitions shall be led by their first replica; elected after the answer."""
    named: dict[str, list[int]] = {}
    for one in topics:
        earlier = named.get(one.topic)
        if earlier == [] or not one.partition_ids:  # no partitions mean all, whatever else is named
            named[one.topic] = []
        else:
            named[one.topic] = [*(earlier or ()), *one.partition_ids]
    asked = named or {name: [] for name in office.cluster.topics.names() if name not in office.cluster.marked}
    refused: dict[str, AdminError] = {}
    entries = []
    for name, indexes in asked.items():
        try:
            entries += _not_preferred(office, name, chosen_partitions(name, indexes, office.cluster))
        except AdminError as refusal:
            refused[name] = refusal
    try:
        try:
            await _ask_for_election(office, entries)
        except PacketTooLarge:  # more than a node can list: done before the answer, while an empty one keeps others out
            await _ask_for_election(office, ())
            failed = await prefer_first_replicas(office, entries)
            refused |= {name: _refusal_of_write(error) for name, error in failed.items()}
    except (Conflict, StoreError) as error:
        failure = _refusal_of_write(error)
        if isinstance(error, Conflict) and isinstance(error.error, NodeExists):
            reason = "an election of preferred leaders is running"
            failure = AdminError(ErrorCode.PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS, reason)
        if not named:
            raise failure from error
        refused = dict.fromkeys(asked, failure) | refused
    office.queue.look(PreferredElection.path())
    return _outcomes(asked, refused)


async def _ask_for_election(office: ControllerContext, entries: Sequence[TopicPartition]) -> None:
    await office.writer.commit([Create(PreferredElection.path(), PreferredElection(tuple(entries)).encode())])


def _not_preferred(office: ControllerContext, name: str, indexes: Sequence[int]) -> list[TopicPartition]:
    topic = _before(office, name)
    partitions = [topic.partition(index) for index in indexes]
    return [
        TopicPartition(name, one.id)
        for one in partitions
        if one is not None and one.replicas and one.leader != one.replicas[0]
    ]


async def describe_topic(office: ControllerContext, name: str) -> Topic:
    """As it is now."""
    topic = office.cluster.topics.get(name)
    return topic if topic is not None else known_topic(name, office.cluster)


async def topic_names(office: ControllerContext) -> TopicNames:
    """Also of those that nobody can read."""
    names = sorted({*office.cluster.topics.names(), *office.cluster.unreadable})
    marked = office.cluster.marked
    return TopicNames([name for name in names if name in marked], [name for name in names if name not in marked])


async def controlled_shutdown(office: ControllerContext, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
    """Move leaders away from a broker that is about to stop."""
    broker = office.cluster.brokers.get(broker_id)
    if broker is None or broker_epoch not in {-1, broker.epoch}:
        raise AdminError(ErrorCode.ADMIN_REQUEST_FAILED, f"broker {broker_id} is not alive, or lives another life")
    office.with_cluster(leaving=office.cluster.leaving | {broker_id})
    now = office.now
    await office.write_topics([move_leaders(topic, now) for topic in office.cluster.topics])
    return [
        (topic.name, partition.id)
        for topic in office.cluster.topics
        for partition in topic.partitions
        if partition.leader == broker_id
    ]


def _outcomes(commands: Mapping[str, object], refused: Mapping[str, AdminError]) -> list[Outcome]:
    return [Outcome(name, refused.get(name)) for name in commands]


__all__ = [
    "alter_topics",
    "controlled_shutdown",
    "create_topics",
    "delete_topics",
    "describe_topic",
    "elect_preferred",
    "moves",
    "reassign",
    "topic_names",
]
