"""`kafka-topics --zookeeper`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed
from kwire_admin.compat.scripts.topics import ACTIONS, COLLISION
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, AdminError
    from kwire_admin.compat.script import ScriptRun
    from kwire_zookeeper_tools.tool_run import ToolRun

FILTERS = ("under-replicated-partitions", "unavailable-partitions", "topics-with-overrides")
DEPRECATED = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future releases."
    "\n         Going forward, please use kafka-configs.sh for this functionality"
)
UNKNOWN_CONFIG = re.compile(r"[Uu]nknown topic config(?: name:)? '?([^']*)'?")


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: the cluster refused something.
    """
    from kwire.client.admin import AdminError
    from kwire_admin.operations.parameters import InvalidArgument
    from kwire_zookeeper_tools.topic_command import describe_topics, is_unavailable, is_under_replicated, list_topics

    values = run.values
    _check(run)
    tool = tool_run(run)
    admin, topic = await tool.admin(), values.get("topic")
    try:
        if "list" in values:
            await list_topics(tool, admin, topic)
        elif "describe" in values:
            filters = {"under-replicated-partitions": is_under_replicated, "unavailable-partitions": is_unavailable}
            only = next((test for name, test in filters.items() if name in values), None)
            overrides = "topics-with-overrides" in values
            await describe_topics(tool, admin, topic, only=only, with_overrides_only=overrides, must_exist=False)
        elif "create" in values:
            await _create(run, tool, admin, topic or "")
        else:
            await _change(run, tool, admin, topic or "")
    except AdminError as error:
        brokers = len((await admin.describe_cluster()).brokers)
        raise _failed(run, _sentence(run, topic or "", error, brokers)) from None
    except InvalidArgument as error:
        raise _failed(run, str(error)) from None


def _check(run: ScriptRun) -> None:
    values = run.values
    if sum(action in values for action in ACTIONS) != 1:
        raise ScriptUsageError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
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


def _sentence(run: ScriptRun, topic: str, error: AdminError, brokers: int) -> str:
    """Return the sentence of the release for an error, which newer brokers and nodes of kwire report in other words.

    Args:
        run: the run.
        topic: the topic or the expression of the command line.
        error: the error.
        brokers: the number of live brokers.
    """
    if error.kafka_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        quoted = f'"{topic}"' if run.is_before("0.10.0.0") else f"'{topic}'"
        return f"Topic {quoted} already exists."
    if error.kafka_code == ErrorCode.INVALID_TOPIC_EXCEPTION and topic:
        return f"topic name {topic} is illegal, contains a character other than ASCII alphanumerics, '.', '_' and '-'"
    if error.kafka_code == ErrorCode.INVALID_PARTITIONS and "alter" in run.values:
        return "The number of partitions for a topic can only be increased"
    factor = run.values.number("replication-factor")
    if error.kafka_code == ErrorCode.INVALID_REPLICATION_FACTOR and factor is not None and factor > brokers:
        return f"replication factor: {factor} larger than available brokers: {brokers}"
    unknown = UNKNOWN_CONFIG.match(error.text)
    if error.code == Kip4ErrorCode.INVALID_ARGUMENT_TOPIC_CONFIG:  # its text does not say which config it is
        from kwire_cluster.config.topic_settings import TOPIC_SETTINGS

        names = (config.partition("=")[0] for config in run.values.all("config"))
        missing = next((name for name in names if name not in TOPIC_SETTINGS), None)
        if missing is not None:
            return _unknown_config(run, missing)
    if unknown is not None:
        return _unknown_config(run, unknown[1])
    return (error.text[:1].lower() + error.text[1:]).removesuffix(".")


def _unknown_config(run: ScriptRun, name: str) -> str:
    old = f'requirement failed: Unknown configuration "{name}".'
    return old if run.is_before("0.10.0.0") else f"Unknown Log configuration {name}."


async def _check_deleted(run: ScriptRun, admin: AdminClient, topic: str, names: Sequence[str]) -> None:
    """Check that the configs to delete exist. A broker accepts any name, and the old scripts do not.

    Raises:
        ScriptFailed: a config does not exist.
    """
    from kwire.client.admin import ConfigResource, ConfigResourceType
    from kwire_cluster.config.topic_settings import TOPIC_SETTINGS

    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    reported = (await admin.describe_configs([resource]))[resource]
    known = {*TOPIC_SETTINGS, *(reported if isinstance(reported, dict) else ())}
    for name in names:
        if name not in known:
            raise _failed(run, _unknown_config(run, name))


async def _check_increased(run: ScriptRun, admin: AdminClient, names: Sequence[str], partitions: int) -> None:
    """Check that topics get more partitions. A node accepts the number that a topic has.

    Raises:
        ScriptFailed: a topic has as many partitions, or more.
    """
    from kwire_zookeeper_tools.topic_command import REPARTITIONED

    for topic in (await admin.describe_topics(names)).values():
        if len(getattr(topic, "partitions", ())) >= partitions:
            run.print(REPARTITIONED)
            raise _failed(run, "The number of partitions for a topic can only be increased")


async def _create(run: ScriptRun, tool: ToolRun, admin: AdminClient, topic: str) -> None:
    from kwire.client.admin import AdminError
    from kwire_zookeeper_tools.topic_command import create_topic

    values = run.values
    if ("." in topic or "_" in topic) and not run.is_before("0.9.0.0"):
        run.print(COLLISION)
    try:
        await create_topic(
            tool,
            admin,
            topic,
            partitions=None if "replica-assignment" in values else values.number("partitions"),
            replication_factor=None if "replica-assignment" in values else values.number("replication-factor"),
            assignment=values.get("replica-assignment"),
            configs=values.all("config"),
        )
    except AdminError as error:
        if error.kafka_code != ErrorCode.TOPIC_ALREADY_EXISTS or "if-not-exists" not in values:
            raise


async def _change(run: ScriptRun, tool: ToolRun, admin: AdminClient, pattern: str) -> None:
    from kwire_zookeeper_tools.topic_command import alter_topics, delete_topics, matching_topics

    values = run.values
    names = sorted(await matching_topics(admin, pattern))
    if not names and not run.is_before("0.9.0.0") and "if-exists" not in values:
        raise _failed(run, f"Topic {pattern} does not exist on ZK path {values.get('zookeeper')}")
    if "delete" in values:
        if not names and run.is_before("0.9.0.0"):
            run.print(f"Topic {pattern} does not exist")
        for name in names:
            await delete_topics(tool, admin, [name])
            run.print("Note: This will have no impact if delete.topic.enable is not set to true.")
        return
    partitions, configs, deleted = values.number("partitions"), values.all("config"), values.all("delete-config")
    if partitions is not None and names:
        await _check_increased(run, admin, names, partitions)
    if names and deleted:
        await _check_deleted(run, admin, names[0], deleted)
    if names and (configs or deleted) and not run.is_before("0.9.0.0"):
        run.print(DEPRECATED)
    if partitions is not None or configs or deleted:
        assignment = values.get("replica-assignment")
        await alter_topics(
            tool, admin, names, partitions=partitions, assignment=assignment, configs=configs, deleted_configs=deleted
        )


script = Script(
    "kafka-topics",
    ("kafka.admin.TopicCommand",),
    (
        ZOOKEEPER,
        ScriptOption("list", "List all available topics."),
        ScriptOption("describe", "List details for the given topics."),
        ScriptOption("create", "Create a new topic."),
        ScriptOption("alter", "Alter the number of partitions, replica assignment, and/or configuration."),
        ScriptOption("delete", "Delete a topic."),
        ScriptOption("topic", "The topic; a regular expression except for --create.", "topic"),
        ScriptOption("config", "A topic configuration override.", "name=value"),
        ScriptOption("delete-config", "A topic configuration override to be removed.", "name"),
        ScriptOption("partitions", "The number of partitions.", "# of partitions", "Integer"),
        ScriptOption("replication-factor", "The replication factor.", "replication factor", "Integer"),
        ScriptOption(
            "replica-assignment",
            "A list of manual partition-to-broker assignments.",
            "broker_id_for_part1_replica1:broker_id_for_part1_replica2,...",
        ),
        ScriptOption("under-replicated-partitions", "Only show under replicated partitions."),
        ScriptOption("unavailable-partitions", "Only show partitions whose leader is not available."),
        ScriptOption("topics-with-overrides", "Only show topics that have overridden configs."),
        ScriptOption("if-exists", "Only execute the action if the topic exists."),
        ScriptOption("if-not-exists", "Only execute the action if the topic does not exist."),
        ScriptOption("force", "Accepted: there is no question to suppress."),
        ScriptOption("disable-rack-aware", "Accepted: the controller places replicas, and does not need all racks."),
    ),
    run,
    "Error while executing topic command : ",
    banner="Create, delete, describe, or change a topic.",
    codes={"0.8.2.2": 0},
)
