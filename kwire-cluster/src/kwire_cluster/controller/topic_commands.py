"""Requests that create, alter, delete, describe, and list topics.

There is one function, or a `TopicCreationRequest`, for each topic method of `AdminBackend`; the consumer of the event
queue runs it. A request is
validated against the cluster state, written, and answered, with one outcome for each topic.

Of several commands for one topic, the last one counts. In strict batches and in deletions, all of them are rejected
with error 1012 instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.backend import Outcome, TopicNames
from kwire_cluster.controller.errors import CommandError, reassignment_in_progress, write_failed
from kwire_cluster.controller.fenced_writer import ControllerMovedError, WriteConflict
from kwire_cluster.controller.partition_reassignment import list_reassignments, lock_reassignment
from kwire_cluster.controller.topic_plans import (
    alter_topic,
    check_single_instruction,
    existing_topic,
    new_topic,
    require_topic,
)
from kwire_cluster.controller.topic_rules import PartitionBudget
from kwire_cluster.controller.topic_state import NO_ZNODE, Topic
from kwire_cluster.controller.topic_writes import TopicWrites, plan_writes
from kwire_cluster.request_quotas import TimeSlice
from kwire_cluster.zookeeper.configs import EntityConfig
from kwire_cluster.zookeeper.errors import (
    NodeExists,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
)
from kwire_cluster.zookeeper.operations import Create
from kwire_cluster.zookeeper.store import until_answered
from kwire_cluster.zookeeper.topics import DeletionMarker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.controller_context import ControllerContext

CHUNK_SIZE = 100
"""Topics that are created together."""

Command = TypeVar("Command")


class TopicCreationRequest:
    """A request to create topics with leaders. It is carried out in chunks, between which the queue has other events.

    A chunk is validated against the cluster state of its time and the topics before it, and written. The budget of new
    partitions and the time slice belong to the whole request; the slice is suspended while a chunk is not validated.

    Args:
        creations: the topics.
        settings: the settings at the beginning of the request.
        client_id: the client that asks, for settings of assignments.
        author: the author in the audit.
        validate_only: True to return the outcomes and write nothing.

    Attributes:
        outcomes: the outcomes of the chunks so far.
    """

    def __init__(
        self,
        creations: Sequence[TopicCreation],
        settings: NodeSettings,
        client_id: str | None,
        author: str,
        *,
        validate_only: bool,
    ) -> None:
        self.outcomes: list[Outcome] = []
        # The commands that count for each topic.
        self._commands = _unique_commands(creations, lambda one: one.topic_name, strict=settings.strict_batches)
        self._client_id = client_id
        self._author = author
        self._validate_only = validate_only
        self._budget = PartitionBudget(settings)
        self._time_slice = TimeSlice()
        self._time_slice.suspend()

    @property
    def is_complete(self) -> bool:
        """True once all topics have outcomes."""
        return len(self.outcomes) == len(self._commands)

    def give_up(self, error: CommandError) -> None:
        """Let an error be the outcome of the remaining topics."""
        names = list(self._commands)[len(self.outcomes) :]
        self.outcomes += [Outcome(name, error) for name in names]

    async def create_chunk(self, context: ControllerContext) -> list[Outcome]:
        """Create the topics of the next chunk, and return their outcomes, which the caller adds unless it gives up."""
        begin = len(self.outcomes)
        commands = dict(list(self._commands.items())[begin : begin + CHUNK_SIZE])
        self._time_slice.resume()
        topics, errors = await self._plan(context, commands)
        self._time_slice.suspend()
        if not self._validate_only:
            written, failed = await _write_new_topics(context, topics, self._author)
            for name, error in failed.items():
                errors[name] = _creation_error(name, error)
                context.reread_topic(name)
            context.unwatched_topics.update(topic.name for topic in written)
            context.update_topics(written)
        return _outcomes(commands, errors)

    async def _plan(
        self, context: ControllerContext, commands: Mapping[str, TopicCreation | CommandError]
    ) -> tuple[list[Topic], dict[str, CommandError]]:
        """Return the valid new topics, and the errors of the other commands by topic."""
        topics: list[Topic] = []
        errors: dict[str, CommandError] = {}
        cluster, budget = context.cluster, self._budget
        for name, command in commands.items():
            await self._time_slice.step()
            try:
                creation = _raise_error(command)
                topic = new_topic(
                    creation, cluster, context.election, context.settings, context.rng, self._client_id, budget
                )
            except CommandError as error:
                errors[name] = error
                continue
            cluster = replace(cluster, topics=cluster.topics.updated([topic]))  # later names must not collide with it
            topics.append(topic)
            budget.take(len(topic.partitions))
        return topics, errors


async def _write_new_topics(
    context: ControllerContext, topics: Iterable[Topic], author: str
) -> tuple[list[Topic], dict[str, WriteConflict | StoreError]]:
    """Return the topics that were written, and the errors of the others by name."""
    planned: dict[str, tuple[Topic, TopicWrites]] = {}
    pending: dict[str, Coroutine[Any, Any, None]] = {}
    time_slice = TimeSlice()
    for topic in topics:
        await time_slice.step()
        plan = plan_writes(None, topic, audit=context.audit(author, None, topic))
        planned[topic.name] = topic, plan
        pending[topic.name] = context.writer.commit_all(plan.transactions)
    failed = await context.wait_for_writes(pending)
    for name in [name for name, error in failed.items() if _has_stale_config(name, error)]:
        topic, _ = planned[name]
        version = await _stale_config_version(context, name)
        plan = plan_writes(None, topic, version, audit=context.audit(author, None, topic))
        planned[name] = topic, plan
        del failed[name]
        failed |= await context.wait_for_writes({name: context.writer.commit_all(plan.transactions)})
    return [plan.after for name, (_, plan) in planned.items() if name not in failed], failed


def _has_stale_config(name: str, error: WriteConflict | StoreError) -> bool:
    """Return whether configs exist already: of a deleted topic, or written in advance by a tool."""
    return isinstance(error, WriteConflict) and error.path == EntityConfig.path("topics", name)


async def _stale_config_version(context: ControllerContext, name: str) -> int:
    try:
        stat = await until_answered(lambda: context.store.exists(EntityConfig.path("topics", name)))
    except (SessionExpired, StoreClosed) as error:
        raise ControllerMovedError(str(error)) from error
    return NO_ZNODE if stat is None else stat.version


def _creation_error(name: str, error: WriteConflict | StoreError) -> CommandError:
    if isinstance(error, WriteConflict) and isinstance(error.error, NodeExists):
        return CommandError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
    if isinstance(error, PacketTooLarge):
        reason = f"too many partitions for one ZooKeeper request: {error}"
        return CommandError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
    return write_failed(error)


async def alter_topics(
    context: ControllerContext,
    alterations: Sequence[TopicAlteration],
    author: str,
    *,
    validate_only: bool = False,
) -> list[Outcome]:
    """Change configs, add partitions, and start reassignments; or only validate that."""
    strict = context.settings.strict_batches
    commands = _unique_commands(alterations, lambda one: one.topic_name, strict=strict)
    errors: dict[str, CommandError] = {}
    topics: dict[str, Topic] = {}
    budget = PartitionBudget(context.settings)
    time_slice = TimeSlice()
    for name, command in commands.items():
        await time_slice.step()
        try:
            alteration = _raise_error(command)
            if strict:
                check_single_instruction(alteration)
            topics[name] = alter_topic(alteration, context.cluster, context.election, budget, context.rng)
            budget.take(len(topics[name].partitions) - len(require_topic(name, context.cluster).partitions))
        except CommandError as error:
            errors[name] = error
    if validate_only:
        return _outcomes(commands, errors)
    reassigned = [name for name, topic in topics.items() if _starts_reassignment(context, topic)]
    if reassigned and not await lock_reassignment(context):
        for name in reassigned:
            errors[name] = reassignment_in_progress()
            del topics[name]
        reassigned = []
    failed = await context.write_topics(topics.values(), author)
    errors |= {name: write_failed(error) for name, error in failed.items()}
    if reassigned:
        existing = context.cluster.topics
        written = [topic for name in reassigned if name not in failed and (topic := existing.get(name)) is not None]
        await list_reassignments(context, written)
    return _outcomes(commands, errors)


def _starts_reassignment(context: ControllerContext, topic: Topic) -> bool:
    before = context.cluster.topics.get(topic.name)
    return bool(topic.reassignments) and before is not None and not before.reassignments


async def delete_topics(
    context: ControllerContext, names: Sequence[str], author: str, *, validate_only: bool = False
) -> list[Outcome]:
    """Mark topics for deletion, or only validate that."""
    commands = _unique_commands(names, str, strict=True)
    cluster = context.cluster
    errors: dict[str, CommandError] = {}
    pending: dict[str, Coroutine[Any, Any, None]] = {}
    time_slice = TimeSlice()
    for name, command in commands.items():
        await time_slice.step()
        if isinstance(command, CommandError):
            errors[name] = command
        elif name not in cluster.topics and name not in cluster.malformed_topics:
            errors[name] = CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name[:249]!r} does not exist")
        elif name not in cluster.topics_to_delete and not validate_only:
            marker = Create(DeletionMarker.path(name), DeletionMarker(name).encode())
            topic = cluster.topics.get(name) or Topic(name, None, ())  # a malformed one
            pending[name] = context.writer.commit([marker, *context.audit(author, topic, None)])
    if validate_only:
        return _outcomes(commands, errors)
    failed = {
        name: error
        for name, error in (await context.wait_for_writes(pending)).items()
        if not (isinstance(error, WriteConflict) and isinstance(error.error, NodeExists))  # marked by another client
    }
    errors |= {name: write_failed(error) for name, error in failed.items()}
    marked = context.cluster.topics_to_delete.union(name for name in pending if name not in failed)
    context.update_cluster(topics_to_delete=marked)
    context.queue.enqueue_change(DeletionMarker.root)
    return _outcomes(commands, errors)


async def describe_topic(context: ControllerContext, name: str) -> Topic:
    """Return the current state of a topic."""
    return existing_topic(name, context.cluster)


async def list_topics(context: ControllerContext) -> TopicNames:
    """Return the names of all topics, including malformed ones."""
    names = sorted({*context.cluster.topics.names(), *context.cluster.malformed_topics})
    marked = context.cluster.topics_to_delete
    return TopicNames([name for name in names if name in marked], [name for name in names if name not in marked])


def _unique_commands(
    commands: Iterable[Command], name: Callable[[Command], str], *, strict: bool
) -> dict[str, Command | CommandError]:
    """Return the command that counts for each topic, or its error, in the order in which topics are first named."""
    chosen: dict[str, Command | CommandError] = {}
    for command in commands:
        topic = name(command)
        if strict and topic in chosen:
            reason = "the batch names the topic more than once"
            chosen[topic] = CommandError(ErrorCode.MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH, reason)
        else:
            chosen[topic] = command
    return chosen


def _raise_error(command: Command | CommandError) -> Command:
    if isinstance(command, CommandError):
        raise command
    return command


def _outcomes(commands: Mapping[str, object], errors: Mapping[str, CommandError]) -> list[Outcome]:
    return [Outcome(name, errors.get(name)) for name in commands]
