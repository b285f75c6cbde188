"""Tools that are Kafka's scripts under the names and options of Kafka 0.8: a table, and the run of a row.

A script is implemented once, in `kwire_admin.compat`. A row says which script a tool runs, with which options by
default, and how its own options are called in the script. Parser, help, documentation, and permissions on nodes derive
from the options of the script, as those of other tools derive from their functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire._util.readable import counted
from kwire_admin.compat.options import OptionValues, ScriptOption, ScriptUsageError
from kwire_admin.compat.script import COMMAND_CONFIG, LAST_WITH_ZOOKEEPER, ScriptFailed, ScriptRefused, ScriptRun
from kwire_admin.operations.declaration import ANYWHERE, Need, Operation, ToolFailed
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option, Parameter, parse_assignment
from kwire_admin.operations.partitions import existing_topics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kwire_admin.compat.script import Script
    from kwire_zookeeper_tools.tool_run import ToolRun

    Prepare = Callable[[ToolRun, OptionValues], Awaitable[bool]]

__all__ = ["SCRIPT_TOOLS", "ScriptTool"]

IMPLICIT = frozenset({"bootstrap-server", "command-config", "zookeeper", "help", "version"})
"""Options that every tool for brokers has, or none."""
FILES = frozenset(
    {"add-config-file", "from-file", "path-to-json-file", "reassignment-json-file", "topics-to-move-json-file"}
)
"""Options whose values are files. A node reads them only for users who may alter the cluster."""
FAILED_AS_PRINTED = "it has failed, and its output says how"
IN_0_9 = "0.9.0.1"
"""The release whose lines the oldest tools print. Releases before it end with success after some failures."""


@dataclass(frozen=True)
class ScriptTool(Operation):
    """A row of the table.

    Attributes:
        script: the name of the script.
        summary_line: the help of the tool.
        given: options of the script that every run has, with their values.
        renamed: the options of the tool, each with the option of the script; empty if it has all options of the script.
        also: other names of options of the script.
        defaults: values of options of the tool that are not given, unless one of the options in `unless` is.
        unless: see `defaults`.
        release: the release that the script follows, with any way to name the cluster; None for 0.10.2.2 with
            ZooKeeper, and the newest release with brokers.
        words: the placeholder of positional arguments; empty if there are none.
        prepare: changes the arguments before the script runs, and returns False if nothing is to be done.
    """

    script: str = ""
    summary_line: str = ""
    given: tuple[tuple[str, str | None], ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    unless: str = ""
    release: str | None = None
    words: str = ""
    prepare: Prepare | None = None

    @property
    def result(self) -> None:  # a cached property of Operation
        """Scripts print lines."""

    @property
    def help(self) -> str:
        """The text of the help."""
        return f"{self.summary_line}\n\nIt is the script {self.script} of Kafka, with the options below."

    @cached_property
    def options(self) -> dict[str, ScriptOption]:
        """The options of the script, by the name that the tool gives them."""
        from kwire_admin.compat.registry import WITH_ZOOKEEPER, find_script, find_script_with_zookeeper

        scripts: list[Script] = [] if self.release else [find_script(self.script)]
        scripts += [find_script_with_zookeeper(self.script)] if self.script in WITH_ZOOKEEPER else []
        options = {
            option.name: option
            for script in scripts
            for option in script.options
            if option.name not in IMPLICIT and option.same_as != COMMAND_CONFIG.name and option.same_as not in IMPLICIT
        }
        return {name: options[of_script] for name, of_script in self.renamed.items()} if self.renamed else options

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that derive from the options of the script."""
        words = [Parameter("words", str, True, Argument("What to do.", self.words), [])] if self.words else []
        return (*words, *(self._parameter(name, option) for name, option in self.options.items()))

    def _parameter(self, name: str, option: ScriptOption) -> Parameter:
        is_flag = option.value is None or option.optional
        declared = Option(
            option.help if option.help.endswith(".") else f"{option.help}.",
            None if is_flag else (option.value or "").upper().replace(" ", "-"),
            also=tuple(other for other, named in self.also.items() if named == name),
        )
        kind: type = bool if is_flag else Path if option.name in FILES else str
        return Parameter(name.replace("-", "_"), kind, not is_flag, declared, False if is_flag else [])

    async def run(self, run: ToolRun, values: Mapping[str, Any]) -> None:
        """Run the script with the values of parameters.

        Raises:
            InvalidArgument: the options do not fit together.
            ToolFailed: the script has failed.
        """
        from kwire_admin.compat.registry import WITH_ZOOKEEPER, find_script, find_script_with_zookeeper

        chosen = self._values(run, values)
        if self.prepare is not None and not await self.prepare(run, chosen):
            return
        is_old = self.release is not None or (run.names_zookeeper and self.script in WITH_ZOOKEEPER)
        script = find_script_with_zookeeper(self.script) if is_old else find_script(self.script)
        if is_old and self.release is None and run.names_brokers:
            raise InvalidArgument("give --zookeeper or --bootstrap-server, not both")
        known = {option.name for option in script.options}
        for option in self.options.values():
            if option.name in chosen and option.name not in known:
                raise InvalidArgument(f"--{option.name} has no meaning {'with' if is_old else 'without'} --zookeeper")
        # The run has the cluster, whichever option has named it.
        chosen.add("zookeeper" if is_old else "bootstrap-server", "")
        script_run = ScriptRun(chosen, self.release or LAST_WITH_ZOOKEEPER, run)
        try:
            await script.function(script_run)
        except ScriptUsageError as error:
            raise InvalidArgument(" ".join(str(error).split())) from None
        except ScriptFailed as error:
            failure = script.failure if isinstance(error, ScriptRefused) else ""
            first, *rest = f"{failure}{error}".strip().split("\n")
            for line in (first, *rest) if rest else ():
                run.print(line)
            raise ToolFailed(FAILED_AS_PRINTED if rest or not first else first) from None
        if script_run.has_failures:
            raise ToolFailed(FAILED_AS_PRINTED)

    def _values(self, run: ToolRun, values: Mapping[str, Any]) -> OptionValues:
        """Return the arguments of the script. Files are limited to what the tool may use."""
        chosen = OptionValues()
        chosen.words = [*values.get("words", ())]
        for always, with_value in self.given:
            chosen.add(always, with_value)
        for name, option in self.options.items():
            value = values[name.replace("-", "_")]
            if not value and name in self.defaults and not values.get(self.unless.replace("-", "_")):
                value = [self.defaults[name]]
            if value is True:
                chosen.add_option(option, None)
            for text in value if isinstance(value, list) else ():
                chosen.add_option(option, str(run.file(text)) if isinstance(text, Path) else text)
        return chosen


def script_tool(name: str, script: str, summary: str, **fields: Any) -> ScriptTool:
    """Return a row of the table."""

    async def function(run: ToolRun, **values: Any) -> None:
        await tool.run(run, values)

    function.__name__ = function.__qualname__ = name.replace("-", "_")
    fields.setdefault("needs", frozenset({Need.BROKERS, Need.ZOOKEEPER}))
    tool = ScriptTool(function=function, runs_on=ANYWHERE, script=script, summary_line=summary, **fields)
    return tool


async def _name_literally(run: ToolRun, values: OptionValues) -> bool:
    """Make the name of a topic an expression that matches only it, because scripts take expressions."""
    del run
    values.replace("topic", [re.escape(name) for name in values.all("topic")])
    return True


async def _count_added(run: ToolRun, values: OptionValues) -> bool:
    """Add the existing partitions: AddPartitions names only the added ones, and scripts name all.

    Raises:
        InvalidArgument: the number is not positive, or the assignment has another number of partitions.
    """
    name = values.get("topic")
    added, assigned = values.number("partitions"), parse_assignment(values.get("replica-assignment"))
    if name is None or added is None:
        raise InvalidArgument("--topic and --partition are needed")
    if added < 1:
        raise InvalidArgument(f"--partition: expected at least 1, found {added}")
    if assigned and len(assigned) != added:
        raise InvalidArgument(f"the assignment has {counted(len(assigned), 'partition')}, expected {added}")
    topic = (await existing_topics(await run.admin(), [name]))[name]
    values.replace("partitions", [str(len(topic.partitions) + added)])
    if assigned:
        replicas = [partition.replicas for partition in topic.partitions] + [*assigned.values()]
        values.replace("replica-assignment", [",".join(":".join(map(str, of_one)) for of_one in replicas)])
    return await _name_literally(run, values)


async def _name_all_features(run: ToolRun, values: OptionValues) -> bool:
    """Name the features and levels of `upgrade-all` and `downgrade-all`, which only the tool of KIP-584 has."""
    if not values.words:
        values.words = ["describe"]
    command = values.words[0]
    if command not in ("upgrade-all", "downgrade-all"):
        return True
    described = await (await run.admin()).describe_features()
    supported, finalized = described.supported_features, described.finalized_features
    if command == "upgrade-all":
        levels = {name: versions.max_version for name, versions in supported.items()}
        changed = {
            name: level
            for name, level in levels.items()
            if name not in finalized or finalized[name].max_version_level < level
        }
    else:
        levels = {name: supported[name].max_version if name in supported else 0 for name in finalized}
        changed = {name: level for name, level in levels.items() if finalized[name].max_version_level > level}
    values.words = [command.removesuffix("-all")]
    values.replace("feature", [f"{name}={level}" for name, level in changed.items()])
    return bool(changed)


async def _join_topics(run: ToolRun, values: OptionValues) -> bool:
    del run
    if topics := values.all("topic"):
        values.replace("topic", [",".join(topics)])
    return True


def _danger_of_features(arguments: Mapping[str, Any]) -> Danger:
    return Danger.CHANGES if {*arguments["words"]} - {"describe"} else Danger.READS


CHANGES, DESTROYS = Danger.CHANGES, Danger.DESTROYS
topics = script_tool(
    "topics",
    "kafka-topics",
    "List, describe, create, change, and delete topics, with the options and the lines of Kafka 0.9.",
    dangers={"create": CHANGES, "alter": CHANGES, "delete": DESTROYS},
    examples=(
        "--bootstrap-server localhost:9092 --list",
        "--zookeeper localhost:2181 --create --topic orders --partitions 3 --replication-factor 2",
        "--describe --topic 'orders.*' --under-replicated-partitions",
    ),
    release=IN_0_9,
)
create_topic = script_tool(
    "create-topic",
    "kafka-topics",
    "Create a topic, with the options of Kafka 0.8.0.",
    danger=CHANGES,
    examples=("--zookeeper localhost:2181 --topic orders --partition 3 --replica 2",),
    replaces=("kafka.admin.CreateTopicCommand",),
    given=(("create", None),),
    renamed={
        "topic": "topic",
        "partition": "partitions",
        "replica": "replication-factor",
        "replica-assignment-list": "replica-assignment",
    },
    defaults={"partition": "1", "replica": "1"},
    unless="replica-assignment-list",
    release=IN_0_9,
)
delete_topic = script_tool(
    "delete-topic",
    "kafka-topics",
    "Delete a topic, with the options of Kafka 0.8.1.",
    danger=DESTROYS,
    examples=("--zookeeper localhost:2181 --topic orders",),
    replaces=("kafka.admin.DeleteTopicCommand",),
    given=(("delete", None),),
    renamed={"topic": "topic"},
    release=IN_0_9,
    prepare=_name_literally,
)
list_topic = script_tool(
    "list-topic",
    "kafka-topics",
    "Print topics with their partitions, as Kafka 0.8.0 lists them.",
    examples=("--zookeeper localhost:2181", "--zookeeper localhost:2181 --topic orders --under-replicated-partitions"),
    replaces=("kafka.admin.ListTopicCommand",),
    given=(("describe", None),),
    renamed={name: name for name in ("topic", "unavailable-partitions", "under-replicated-partitions")},
    release=IN_0_9,
)
add_partitions = script_tool(
    "add-partitions",
    "kafka-topics",
    "Add partitions to a topic, with the options of Kafka 0.8.0: the number is the one to add.",
    danger=CHANGES,
    examples=("--zookeeper localhost:2181 --topic orders --partition 2",),
    replaces=("kafka.admin.AddPartitionsCommand",),
    given=(("alter", None),),
    renamed={"topic": "topic", "partition": "partitions", "replica-assignment-list": "replica-assignment"},
    release=IN_0_9,
    prepare=_count_added,
)
configs = script_tool(
    "configs",
    "kafka-configs",
    "Describe and change configs and quotas. A value with commas is written between brackets.",
    dangers={"alter": CHANGES},
    examples=(
        "--describe --entity-type topics --entity-name orders",
        "--alter --entity-type topics --entity-name orders --add-config retention.ms=1000 --delete-config segment.ms",
        "--alter --entity-type brokers --entity-default --add-config max.connections=500",
    ),
)
consumer_groups = script_tool(
    "consumer-groups",
    "kafka-consumer-groups",
    "List, describe, reset, and delete consumer groups; with --zookeeper, groups that Kafka 0.8 to 0.10 stored there.",
    dangers={"delete": DESTROYS, "delete_offsets": DESTROYS, "execute": DESTROYS},
    examples=(
        "--list",
        "--describe --group app",
        "--delete --group app",
        "--zookeeper localhost:2181 --delete --group app",
    ),
)
features = script_tool(
    "features",
    "kafka-features",
    "Describe and change the finalized features of a cluster; upgrade-all and downgrade-all name all of them.",
    dangers=_danger_of_features,
    examples=("describe", "upgrade --feature group_coordinator=3", "downgrade-all --dry-run"),
    words="describe|upgrade|downgrade|disable|upgrade-all|downgrade-all",
    prepare=_name_all_features,
)
reassign_partitions = script_tool(
    "reassign-partitions",
    "kafka-reassign-partitions",
    "Move partitions to other brokers, with the options and the lines of Kafka 0.9.",
    dangers={"execute": CHANGES},
    examples=(
        "--zookeeper localhost:2181 --generate --topics-to-move-json-file topics.json --broker-list 1,2,3",
        "--zookeeper localhost:2181 --execute --reassignment-json-file plan.json",
        "--zookeeper localhost:2181 --verify --reassignment-json-file plan.json",
    ),
    also={"--path-to-json-file": "reassignment-json-file"},
    release=IN_0_9,
)
preferred_replica_leader_election = script_tool(
    "preferred-replica-leader-election",
    "kafka-preferred-replica-election",
    "Elect the preferred leaders of partitions: their first replicas.",
    danger=CHANGES,
    examples=("--zookeeper localhost:2181", "--zookeeper localhost:2181 --path-to-json-file partitions.json"),
    release=IN_0_9,
)
get_offset_shell = script_tool(
    "get-offset-shell",
    "kafka-get-offsets",
    "Print an offset of each partition as TOPIC:PARTITION:OFFSET.",
    examples=("--bootstrap-server localhost:9092 --topic orders", "--topic orders --partitions 0,1 --time earliest"),
    needs=frozenset({Need.BROKERS}),
    prepare=_join_topics,
)

SCRIPT_TOOLS: dict[str, Operation] = {
    tool.name: tool
    for tool in (
        add_partitions,
        configs,
        consumer_groups,
        create_topic,
        delete_topic,
        features,
        get_offset_shell,
        list_topic,
        preferred_replica_leader_election,
        reassign_partitions,
        topics,
    )
}
"""The rows by the name of the tool."""
