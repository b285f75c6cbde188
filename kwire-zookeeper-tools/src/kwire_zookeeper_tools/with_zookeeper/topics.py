"""`kafka-topics --zookeeper`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType, NewTopic, NotSupported, TopicChange
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed
from kwire_admin.compat.scripts.topics import ACTIONS, COLLISION, ONE_ACTION, topics
from kwire_admin.operations.parameters import InvalidArgument, parse_assignment, parse_configs
from kwire_admin.operations.partitions import existing_topics
from kwire_admin.operations.topic_filter import TopicFilter
from kwire_cluster.config.topic_settings import TOPIC_SETTINGS
from kwire_zookeeper_tools.with_zookeeper import config_sentence, tool_run, unknown_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, PartitionDescription, TopicDescription
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

FILTERS = ("under-replicated-partitions", "unavailable-partitions", "topics-with-overrides")
DEPRECATED = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future releases."
    "\n         Going forward, please use kafka-configs.sh for this functionality"
)
REPARTITIONED = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "
    "will be affected"
)
WAIT_SECONDS = 30.0
"""Time to wait until every broker reports a change."""
UNKNOWN_CONFIG = re.compile(r"[Uu]nknown topic config(?: name:)? '?([^']*)'?")


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: the cluster refused something.
    """
    values = run.values
    _check(run)
    admin, topic = await tool_run(run).admin(), values.get("topic")
    try:
        if "list" in values:
            await _list(run, admin, topic)
        elif "describe" in values:
            await _describe(run, admin, topic)
        elif "create" in values:
            await _create(run, admin, topic or "")
        else:
            await _change(run, admin, topic or "")
    except AdminError as error:
        brokers = len((await admin.describe_cluster()).brokers)
        collides = error.kafka_code == ErrorCode.INVALID_TOPIC_EXCEPTION and "create" in values
        existing = await admin.list_topics() if collides else []
        raise _failed(run, _sentence(run, topic or "", error, brokers, existing)) from None
    except InvalidArgument as error:
        raise _failed(run, str(error)) from None


def _check(run: ScriptRun) -> None:
    values = run.values
    values.one_action(ONE_ACTION)
    values.need("zookeeper")
    if "list" not in values and "describe" not in values:
        values.need("topic")
    if "create" in values and "replica-assignment" not in values:
        values.need("partitions", "replication-factor")
    for names, actions in (
        (("config",), ("alter", "create")),
        (("delete-config",), ("alter",)),
        (("partitions",), ("alter", "create")),
        (("replication-factor",), ("alter", "create")),
        (("replica-assignment",), ("create", "alter")),
        (FILTERS, ("describe",)),
        (("if-exists",), ("alter", "delete")),
        (("if-not-exists",), ("create",)),
    ):
        for name, action in ((name, action) for name in names for action in ACTIONS if action not in actions):
            if name in values and action in values:
                # The blank is missing in the releases as well.
                raise ScriptUsageError(f'Option "[{name}]" can\'t be used with option"[{action}]"')


def _failed(run: ScriptRun, sentence: str) -> ScriptFailed:
    colon = "" if run.is_before("0.9.0.0") else " :"
    return ScriptFailed(f"Error while executing topic command{colon} {sentence}", on_stdout=True)


def _sentence(run: ScriptRun, topic: str, error: AdminError, brokers: int, existing: Sequence[str]) -> str:
    """Return the sentence of the release for an error, which newer brokers and nodes of kwire report in other words.

    Args:
        run: the run.
        topic: the topic or the expression of the command line.
        error: the error.
        brokers: the number of live brokers.
        existing: the topics with which the name may collide.
    """
    quoted = f'"{topic}"' if run.is_before("0.10.0.0") else f"'{topic}'"
    if error.kafka_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return f"Topic {quoted} already exists."
    colliding = [name for name in existing if name.replace(".", "_") == topic.replace(".", "_")]
    if colliding:
        return f"Topic {quoted} collides with existing topics: {', '.join(colliding)}"
    if error.kafka_code == ErrorCode.INVALID_TOPIC_EXCEPTION and topic:
        return f"topic name {topic} is illegal, contains a character other than ASCII alphanumerics, '.', '_' and '-'"
    if error.kafka_code == ErrorCode.INVALID_PARTITIONS and "alter" in run.values:
        return "The number of partitions for a topic can only be increased"
    partitions, factor = run.values.number("partitions"), run.values.number("replication-factor")
    if partitions is not None and partitions < 1:
        return "number of partitions must be larger than 0"
    if factor is not None and factor < 1:
        return "replication factor must be larger than 0"
    if error.kafka_code == ErrorCode.INVALID_REPLICATION_FACTOR and factor is not None and factor > brokers:
        return f"replication factor: {factor} larger than available brokers: {brokers}"
    unknown = UNKNOWN_CONFIG.match(error.text)
    if error.code in (ErrorCode.INVALID_CONFIG, Kip4ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG):
        sentence = config_sentence(run, dict(config.partition("=")[::2] for config in run.values.all("config")))
        if sentence is not None:
            return sentence
    if unknown is not None:
        return unknown_config(run, unknown[1])
    return (error.text[:1].lower() + error.text[1:]).removesuffix(".")


async def _check_deleted(run: ScriptRun, admin: AdminClient, topic: str, names: Sequence[str]) -> None:
    """Check that the configs to delete exist. A broker accepts any name, and the old scripts do not.

    Raises:
        ScriptFailed: a config does not exist.
    """
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    reported = (await admin.describe_configs([resource]))[resource]
    known = {*TOPIC_SETTINGS, *(reported if isinstance(reported, dict) else ())}
    for name in names:
        if name not in known:
            raise _failed(run, unknown_config(run, name))


async def _check_increased(run: ScriptRun, admin: AdminClient, names: Sequence[str], partitions: int) -> None:
    """Check that topics get more partitions. A node accepts the number that a topic has.

    Raises:
        ScriptFailed: a topic has as many partitions, or more.
    """
    for topic in (await admin.describe_topics(names)).values():
        if len(getattr(topic, "partitions", ())) >= partitions:
            run.print(REPARTITIONED)
            raise _failed(run, "The number of partitions for a topic can only be increased")


async def _matching_topics(admin: AdminClient, pattern: str | None) -> dict[str, TopicDescription]:
    """Return the topics that an expression matches; all topics without one.

    Raises:
        InvalidArgument: the expression is invalid.
        AdminError: a topic cannot be described.
    """
    accepts = TopicFilter(pattern or ".*").accepts
    return {name: topic for name, topic in (await existing_topics(admin)).items() if accepts(name)}


async def _list(run: ScriptRun, admin: AdminClient, pattern: str | None) -> None:
    """Print the names of topics, and which of them are being deleted."""
    try:
        deleted = set(await admin.list_topics_marked_for_deletion())
    except NotSupported:  # Kafka leaves them out
        deleted = set()
    names = {*await _matching_topics(admin, pattern), *filter(TopicFilter(pattern or ".*").accepts, deleted)}
    for name in sorted(names):
        run.print(f"{name} - marked for deletion" if name in deleted else name)


async def _describe(run: ScriptRun, admin: AdminClient, pattern: str | None) -> None:
    """Print topics with their partitions. With a filter, only matching partitions are printed, without their topics."""
    values = run.values
    names = sorted(await _matching_topics(admin, pattern))
    described = await admin.describe_topics(names, configs=True) if names else {}
    filtered = "under-replicated-partitions" in values or "unavailable-partitions" in values
    overrides_only = "topics-with-overrides" in values
    for name, topic in described.items():
        if isinstance(topic, Exception):
            raise topic
        # The user may see a topic, and not its configs.
        configs = (
            "-" if topic.configs is None else ",".join(f"{key}={topic.configs[key]}" for key in sorted(topic.configs))
        )
        factor = len(topic.partitions[0].replicas) if topic.partitions else 0
        if not filtered and (configs or not overrides_only):
            run.print(
                f"Topic:{name}\tPartitionCount:{len(topic.partitions)}\tReplicationFactor:{factor}\tConfigs:{configs}"
            )
        for partition in topic.partitions if not overrides_only else ():
            if _is_chosen(values, partition):
                run.print(f"\tTopic: {name}\t{_partition_text(partition)}")


def _is_chosen(values: OptionValues, partition: PartitionDescription) -> bool:
    """Return whether the filters of the options let a partition pass."""
    if "under-replicated-partitions" in values and len(partition.isr) >= len(partition.replicas):
        return False
    return "unavailable-partitions" not in values or partition.leader is None


def _partition_text(partition: PartitionDescription) -> str:
    leader = "none" if partition.leader is None else partition.leader
    replicas, isr = (",".join(map(str, brokers)) for brokers in (partition.replicas, partition.isr))
    return f"Partition: {partition.partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}"


async def _create(run: ScriptRun, admin: AdminClient, name: str) -> None:
    """Create a topic, and wait until every broker reports it."""
    values = run.values
    if ("." in name or "_" in name) and not run.is_before("0.9.0.0"):
        run.print(COLLISION)
    assignment = parse_assignment(values.get("replica-assignment"))
    topic = NewTopic(
        partitions=None if assignment else values.number("partitions"),
        replication_factor=None if assignment else values.number("replication-factor"),
        assignment=assignment,
        configs=parse_configs(values.all("config")),
    )
    try:
        (await admin.create_topics({name: topic})).raise_first()
    except AdminError as error:
        if error.kafka_code != ErrorCode.TOPIC_ALREADY_EXISTS or "if-not-exists" not in values:
            raise
        return
    await admin.wait_until_created([name], timeout=WAIT_SECONDS)
    run.print(f'Created topic "{name}".')


async def _change(run: ScriptRun, admin: AdminClient, pattern: str) -> None:
    values = run.values
    names = sorted(await _matching_topics(admin, pattern))
    if not names and not run.is_before("0.9.0.0") and "if-exists" not in values:
        hosts = values.get("zookeeper")
        raise _failed(run, f"Topic {pattern} does not exist{f' on ZK path {hosts}' if hosts else ''}")
    if "delete" in values:
        await _delete(run, admin, names, pattern)
    elif names:
        await _alter(run, admin, names)


async def _delete(run: ScriptRun, admin: AdminClient, names: Sequence[str], pattern: str) -> None:
    """Delete topics one by one, and wait until no broker reports them."""
    if not names and run.is_before("0.9.0.0"):
        run.print(f"Topic {pattern} does not exist")
    for name in names:
        (await admin.delete_topics([name])).raise_first()
        run.print(f"Topic {name} is marked for deletion.")
        await admin.wait_until_deleted([name], timeout=WAIT_SECONDS)
        run.print("Note: This will have no impact if delete.topic.enable is not set to true.")


async def _alter(run: ScriptRun, admin: AdminClient, names: Sequence[str]) -> None:
    """Change configs and the number of partitions of topics."""
    values = run.values
    partitions, deleted = values.number("partitions"), values.all("delete-config")
    configs = parse_configs(values.all("config"))
    if partitions is not None:
        await _check_increased(run, admin, names, partitions)
    if (configs or deleted) and not run.is_before("0.9.0.0"):
        run.print(DEPRECATED)
    if deleted:
        await _check_deleted(run, admin, names[0], deleted)
    for name in names:
        if configs or deleted:
            change = TopicChange(set_configs=configs, delete_configs=tuple(deleted))
            (await admin.alter_topics({name: change})).raise_first()
            run.print(f'Updated config for topic "{name}".')
        if partitions is not None:
            await _add_partitions(run, admin, name, partitions)


async def _add_partitions(run: ScriptRun, admin: AdminClient, name: str, total: int) -> None:
    """Give a topic a new number of partitions. An assignment names all partitions, also the existing ones."""
    run.print(REPARTITIONED)
    assigned = parse_assignment(run.values.get("replica-assignment"))
    if assigned and len(assigned) != total:
        raise InvalidArgument(f"the assignment has {counted(len(assigned), 'partition')}, expected {total}")
    existing = len((await existing_topics(admin, [name]))[name].partitions)
    added = {index: brokers for index, brokers in assigned.items() if index >= existing}
    change = TopicChange(assignment=added) if added else TopicChange(partitions=total)
    (await admin.alter_topics({name: change})).raise_first()
    await admin.wait_until_created({name: total}, timeout=WAIT_SECONDS)
    run.print("Adding partitions succeeded!")


script = Script(
    "kafka-topics",
    ("kafka.admin.TopicCommand",),
    (
        ZOOKEEPER,
        *topics.chosen_options(*ACTIONS, *FILTERS, "topic", "config", "partitions", "replication-factor"),
        *topics.chosen_options("replica-assignment", "if-exists", "if-not-exists"),
        ScriptOption("delete-config", "A topic configuration override to be removed.", "name"),
        ScriptOption("force", "Accepted: there is no question to suppress."),
        ScriptOption("disable-rack-aware", "Accepted: the controller places replicas, and does not need all racks."),
    ),
    run,
    "Error while executing topic command : ",
    banner="Create, delete, describe, or change a topic.",
    codes={"0.8.2.2": 0},
)
