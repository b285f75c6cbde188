"""`kafka-topics`, as Kafka 3.9 has it with `--bootstrap-server`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, ConfigSource, NewTopic, TopicChange
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion
from kwire.uuids import uuid_from_text, uuid_to_text
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    ZOOKEEPER,
    Script,
    ScriptRefused,
    accepted,
    number_read_late,
)
from kwire_admin.compat.topic_patterns import INTERNAL_TOPICS, InvalidPattern, TopicPattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminClient, Outcomes, PartitionDescription, PartitionMove, TopicDescription
    from kwire.client.admin.values import EligibleLeaders
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

ACTIONS = ("list", "describe", "create", "alter", "delete")
ONE_ACTION = "--list, --describe, --create, --alter or --delete"
STATES = {
    "under-replicated-partitions": "under-replicated",
    "unavailable-partitions": "offline",
    "under-min-isr-partitions": "under-min-isr",
    "at-min-isr-partitions": "at-min-isr",
}
"""Values of PartitionTrouble by the option of Kafka's script."""
FILTERS = (*STATES, "topics-with-overrides")
COLLISION = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
NEWEST = "4.4.0"
"""The release that names a topic without the class of Java around it."""
LARGEST_FACTOR = 2**15 - 1
"""The largest replication factor that a request can have."""


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptRefused: an item was refused.
    """
    values = run.values
    if "delete-config" in values:
        run.warn(
            "delete-config option is no longer supported and deprecated since version 4.0. The config will be fully "
            "removed in future releases."
        )
    _check(run)
    admin = await run.admin()
    if "create" in values:
        await _create(run, admin)
        return
    by_id = values.get("topic-id") if "describe" in values else None
    topics = await _find(run, admin) if by_id is None else await _find_id(admin, values, by_id)
    if "list" in values:
        run.print("\n".join(topics))  # no topic is an empty line, as in Kafka
    elif "describe" in values:
        await _describe(run, admin, topics)
    elif "alter" in values:
        await _alter(run, admin, topics)
    else:
        _raise_first(await admin.delete_topics(list(topics)) if topics else {})


def _check(run: ScriptRun) -> None:
    values = run.values
    values.one_action(ONE_ACTION)
    if "bootstrap-server" not in values:
        raise ScriptUsageError("--bootstrap-server must be specified")
    if "create" in values or "delete" in values or "alter" in values:
        values.need("topic")
    if "alter" in values and "config" in values:
        options = "[config], [bootstrap-server]"
        reason = "To alter topic configurations, the kafka-configs tool can be used."
        if run.is_before(NEWEST):
            options = "[bootstrap-server], [config]"
            reason = "the kafka-configs CLI supports altering topic configs with a --bootstrap-server option"
        raise ScriptUsageError(f'Option combination "[{options}]" can\'t be used with option "[alter]" ({reason})')
    if "alter" in values:
        values.need("partitions")
    if "create" in values:
        for option in ("partitions", "replication-factor"):
            values.forbid(option, "replica-assignment")
    for action in ACTIONS:
        if action not in ("create", "alter"):
            values.forbid(action, "partitions", "replica-assignment")
        if action != "create":
            values.forbid(action, "replication-factor", "config", "if-not-exists")
        if action != "describe":
            values.forbid(action, *FILTERS)
    values.forbid("create", "if-exists")
    values.forbid("list", "if-exists")
    filters = [name for name in FILTERS if name in values]
    if len(filters) > 1 and "topics-with-overrides" in values:
        raise ScriptUsageError(f'Option "[{filters[1]}]" can\'t be used with option "[{filters[0]}]"')


async def _eligible_leaders(
    run: ScriptRun, admin: AdminClient, names: Sequence[str]
) -> dict[str, dict[int, EligibleLeaders]]:
    limit = run.values.number("partition-size-limit-per-response")
    if limit is None:
        return await admin.describe_eligible_leaders(names)
    return await admin.describe_eligible_leaders(names, partitions_per_response=limit)


async def _find(run: ScriptRun, admin: AdminClient) -> list[str]:
    """Return the topics that `--topic` names, a regular expression of Java."""
    values = run.values
    pattern = values.get("topic")
    names = await admin.list_topics()
    if "exclude-internal" in values:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if pattern is None:
        return names
    try:
        expression = TopicPattern(pattern)
    except InvalidPattern as error:
        raise ScriptRefused(str(error)) from None
    matches = list(filter(expression.accepts, names))
    if not matches and "list" not in values and "if-exists" not in values:
        name = f"Optional[{pattern}]" if run.is_before(NEWEST) else pattern
        raise ScriptRefused(f"Topic '{name}' does not exist as expected")
    return matches


async def _find_id(admin: AdminClient, values: OptionValues, text: str) -> list[str]:
    """Return the topic with an id, or raise ScriptRefused."""
    try:
        topic_id = uuid_from_text(text)
    except ValueError as error:
        raise ScriptRefused(str(error)) from None
    described = await admin.describe_topics(await admin.list_topics())
    matches = [name for name, topic in described.items() if getattr(topic, "topic_id", None) == topic_id]
    if not matches and "if-exists" not in values:
        raise ScriptRefused(f"TopicId '{text}' does not exist as expected")
    return matches


async def _create(run: ScriptRun, admin: AdminClient) -> None:
    from kwire_admin.operations.parameters import InvalidArgument, parse_assignment, parse_configs

    values = run.values
    name = values.get("topic") or ""
    partitions, factor = (number_read_late(values, option) for option in ("partitions", "replication-factor"))
    if partitions is not None and partitions < 1:
        raise ScriptRefused("The partitions must be greater than 0")
    if factor is not None and not 1 <= factor <= LARGEST_FACTOR:
        reason = f"The replication factor must be between 1 and {LARGEST_FACTOR} inclusive"
        raise ScriptRefused(reason)
    if any(not config.partition("=")[2].strip() for config in values.all("config")):
        reason = 'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        raise ScriptRefused(reason)
    try:
        configs = parse_configs(values.all("config"))
        # Java drops empty strings at the end.
        assigned = values.get("replica-assignment")
        assignment = parse_assignment(None if assigned is None else assigned.rstrip(","))
    except InvalidArgument as error:
        raise ScriptRefused(str(error)) from None
    if "." in name or "_" in name:
        run.print(COLLISION)
    topic = NewTopic(
        partitions=partitions,
        replication_factor=factor,
        assignment=assignment,
        configs=configs,
    )
    refused = (await admin.create_topics({name: topic}))[name]
    if refused is not None and refused.kafka_code == ErrorCode.TOPIC_ALREADY_EXISTS and "if-not-exists" in values:
        return
    if refused is not None:
        raise refused
    run.print(f"Created topic {name}.")


async def _alter(run: ScriptRun, admin: AdminClient, names: list[str]) -> None:
    values = run.values
    count = number_read_late(values, "partitions")
    if "replica-assignment" in values:
        raise ScriptUsageError("--replica-assignment of --alter is not supported: use kafka-reassign-partitions")
    if names:
        described = await admin.describe_topics(names)
        if any(len(getattr(topic, "partitions", ())) == count for topic in described.values()):
            raise ScriptRefused(f"Topic already has {count} partitions.")
        _raise_first(await admin.alter_topics(dict.fromkeys(names, TopicChange(partitions=count))))


def _raise_first(outcomes: Outcomes | Mapping[str, None]) -> None:
    for error in outcomes.values():
        if error is not None:
            raise error


async def _moves(admin: AdminClient) -> dict[str, Mapping[int, PartitionMove]]:
    """Return the moves in progress by topic; none if the user or the cluster cannot list them (KAFKA-10212)."""
    try:
        return {status.topic: status.moves for status in await admin.list_reassignments()}
    except NoCommonVersion:  # before Kafka 2.4, and on some clusters of other vendors
        return {}
    except AdminError as error:
        if error.name != "CLUSTER_AUTHORIZATION_FAILED":
            raise
        return {}


async def _describe(run: ScriptRun, admin: AdminClient, names: list[str]) -> None:
    from kwire_admin.operations.partitions import PartitionTrouble, min_isr

    if not names:
        return
    values = run.values
    described = await admin.describe_topics(names)
    resources = {name: ConfigResource(ConfigResourceType.TOPIC, name) for name in names}
    configs = await admin.describe_configs(resources.values())
    moves = await _moves(admin)
    # Kafka's script describes a topic by id with a request that does not report eligible leaders.
    eligible = {} if "topic-id" in values else await _eligible_leaders(run, admin, names)
    has_overrides_only = "topics-with-overrides" in values
    states = [PartitionTrouble(state) for option, state in STATES.items() if option in values]
    for name in names:
        topic = accepted(described[name])
        topic_configs = configs[resources[name]]
        if isinstance(topic_configs, AdminError):
            raise topic_configs
        overridden = [
            f"{key}={config.value}"
            for key, config in topic_configs.items()
            if config.source is not ConfigSource.DEFAULT
        ]
        moving = moves.get(name, {})
        if not states and (overridden or not has_overrides_only):
            factor = len(topic.partitions[0].replicas) - len(moving[0].adding if 0 in moving else ())
            run.print(
                f"Topic: {name}\tTopicId: {'-' if topic.topic_id is None else uuid_to_text(topic.topic_id)}"
                f"\tPartitionCount: {len(topic.partitions)}\tReplicationFactor: {factor}"
                f"\tConfigs: {','.join(overridden)}"
            )
        if not has_overrides_only:
            least = accepted(min_isr(name, topic_configs))
            for partition in topic.partitions:
                if not states or any(state.matches(partition, least) for state in states):
                    leaders = eligible.get(name, {}).get(partition.partition)
                    run.print(_partition_line(topic, partition, leaders, {} if states else moving))


def _partition_line(
    topic: TopicDescription,
    partition: PartitionDescription,
    eligible: EligibleLeaders | None,
    moving: Mapping[int, PartitionMove],
) -> str:
    leader = "none" if partition.leader is None else partition.leader
    line = (
        f"\tTopic: {topic.name}\tPartition: {partition.partition}\tLeader: {leader}"
        f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}"
        f"\tElr: {_ids(None if eligible is None else eligible.eligible)}"
        f"\tLastKnownElr: {_ids(None if eligible is None else eligible.last_known)}"
    )
    move = moving.get(partition.partition)
    if move is not None:
        line += f"\tAdding Replicas: {_ids(move.adding)}\tRemoving Replicas: {_ids(move.removing)}"
    return line


def _ids(brokers: tuple[int, ...] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))


topics = Script(
    "kafka-topics",
    ("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ZOOKEEPER,
        ScriptOption("list", "List all available topics."),
        ScriptOption("describe", "List details for the given topics."),
        ScriptOption("create", "Create a new topic."),
        ScriptOption("alter", "Alter the number of partitions."),
        ScriptOption("delete", "Delete a topic."),
        ScriptOption("topic", "The topic; except for --create, a regular expression.", "topic"),
        ScriptOption("topic-id", "The topic-id to describe.", "topic-id"),
        ScriptOption("config", "A topic configuration override for the topic being created.", "name=value"),
        ScriptOption("partitions", "The number of partitions of the topic.", "# of partitions", "Integer"),
        ScriptOption(
            "replication-factor", "The number of replicas of each partition.", "replication factor", "Integer"
        ),
        ScriptOption(
            "replica-assignment", "Brokers of each partition of the new topic.", "broker1_of_part1:broker2_of_part1,..."
        ),
        ScriptOption("under-replicated-partitions", "Describe only under-replicated partitions."),
        ScriptOption("unavailable-partitions", "Describe only partitions without a leader."),
        ScriptOption("under-min-isr-partitions", "Describe only partitions whose ISR is below the minimum."),
        ScriptOption("at-min-isr-partitions", "Describe only partitions whose ISR is the minimum."),
        ScriptOption("topics-with-overrides", "Describe only topics with configs of their own."),
        ScriptOption("if-exists", "Act only if the topic exists."),
        ScriptOption("if-not-exists", "Create the topic only if it does not exist."),
        ScriptOption("delete-config", "No longer supported.", "name"),
        ScriptOption("exclude-internal", "Exclude internal topics when running list or describe command."),
        ScriptOption(
            "partition-size-limit-per-response", "Maximum number of partitions in a response.", "number", "Integer"
        ),
    ),
    run,
    "Error while executing topic command : ",
)
