"""The scripts of Kafka's releases: their classes, and the options that their usage names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.compat.registry import (
    MODULES,
    OLD_RELEASES,
    TOOLS,
    WITH_ZOOKEEPER,
    find_script,
    find_script_with_zookeeper,
)
from kwire_admin.operations.command_line import click_parameters
from kwire_zookeeper_tools import find_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kafka.oracle.release_tools import ReleaseTools

TOOLS_OF = "org.apache.kafka.tools"
SCRIPTS_0_8 = {
    "kafka-consumer-offset-checker": "kafka.tools.ConsumerOffsetChecker",
    "kafka-mirror-maker": "kafka.tools.MirrorMaker",
    "kafka-preferred-replica-election": "kafka.admin.PreferredReplicaLeaderElectionCommand",
    "kafka-reassign-partitions": "kafka.admin.ReassignPartitionsCommand",
    "kafka-replay-log-producer": "kafka.tools.ReplayLogProducer",
    "kafka-replica-verification": "kafka.tools.ReplicaVerificationTool",
    "kafka-simple-consumer-shell": "kafka.tools.SimpleConsumerShell",
    "kafka-topics": "kafka.admin.TopicCommand",
}
CLASSES_0_8 = (
    *("DumpLogSegments", "ExportZkOffsets", "GetOffsetShell", "ImportZkOffsets", "JmxTool", "StateChangeLogMerger"),
    "VerifyConsumerRebalance",
)
"""Tools of `kafka.tools` without a script, for kafka-run-class."""
SCRIPTS_0_9 = {
    "kafka-acls": "kafka.admin.AclCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups": "kafka.admin.ConsumerGroupCommand",
}
SCRIPTS_3_9 = {
    "kafka-acls": "kafka.admin.AclCommand",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-client-metrics": f"{TOOLS_OF}.ClientMetricsCommand",
    "kafka-cluster": f"{TOOLS_OF}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups": f"{TOOLS_OF}.consumer.group.ConsumerGroupCommand",
    "kafka-delegation-tokens": f"{TOOLS_OF}.DelegationTokenCommand",
    "kafka-delete-records": f"{TOOLS_OF}.DeleteRecordsCommand",
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-features": f"{TOOLS_OF}.FeatureCommand",
    "kafka-get-offsets": f"{TOOLS_OF}.GetOffsetShell",
    "kafka-jmx": f"{TOOLS_OF}.JmxTool",
    "kafka-leader-election": f"{TOOLS_OF}.LeaderElectionCommand",
    "kafka-log-dirs": f"{TOOLS_OF}.LogDirsCommand",
    "kafka-metadata-quorum": f"{TOOLS_OF}.MetadataQuorumCommand",
    "kafka-mirror-maker": "kafka.tools.MirrorMaker",
    "kafka-reassign-partitions": f"{TOOLS_OF}.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": f"{TOOLS_OF}.ReplicaVerificationTool",
    "kafka-topics": f"{TOOLS_OF}.TopicCommand",
    "kafka-transactions": f"{TOOLS_OF}.TransactionsCommand",
}
REMOVED_IN_4 = ("kafka-mirror-maker", "kafka-dump-log")
"""Kafka 4 has no kafka-mirror-maker, and its kafka-dump-log needs a jar that is not published."""
SCRIPTS_4_4 = {
    **{name: main for name, main in SCRIPTS_3_9.items() if name not in REMOVED_IN_4},
    "kafka-acls": f"{TOOLS_OF}.AclCommand",
    "kafka-broker-api-versions": f"{TOOLS_OF}.BrokerApiVersionsCommand",
    "kafka-configs": f"{TOOLS_OF}.ConfigCommand",
    "kafka-groups": f"{TOOLS_OF}.GroupsCommand",
    "kafka-share-groups": f"{TOOLS_OF}.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": f"{TOOLS_OF}.streams.StreamsGroupCommand",
}
CLASSES = {
    "0.8.2.2": SCRIPTS_0_8 | {f"kafka.tools.{name}": f"kafka.tools.{name}" for name in CLASSES_0_8},
    "0.9.0.1": SCRIPTS_0_8 | SCRIPTS_0_9 | {f"kafka.tools.{name}": f"kafka.tools.{name}" for name in CLASSES_0_8},
    "0.10.2.2": SCRIPTS_0_8
    | SCRIPTS_0_9
    | {"kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand"}
    | {f"kafka.tools.{name}": f"kafka.tools.{name}" for name in CLASSES_0_8},
    "3.9.1": SCRIPTS_3_9,
    "4.4.0": SCRIPTS_4_4,
}
"""The main class of each script that administers a cluster, and of each class for kafka-run-class, by release."""
COMMANDS = {
    "kafka-cluster": ("cluster-id", "unregister", "unregister-controller", "list-endpoints", "api-versions"),
    "kafka-features": ("describe", "upgrade", "downgrade", "disable"),
    "kafka-metadata-quorum": ("describe", "add-controller", "remove-controller"),
    "kafka-transactions": (
        *("list", "describe", "describe-producers", "abort", "find-hanging"),
        "forceTerminateTransaction",
    ),
}
"""Commands of scripts, each with a usage of its own."""
OPTION = re.compile(r"^(?:\* |  )?(?:-\w[\w -]*, )?--([a-zA-Z][\w.\-]*)", re.MULTILINE)


class ScriptOptions(NamedTuple):
    """The options of a script in the usage of a release, and what kwire does with them.

    Attributes:
        refused: the options that are not accepted.
        without_effect: the options that are accepted and change nothing.
    """

    names: tuple[str, ...]
    refused: tuple[str, ...]
    without_effect: tuple[str, ...]


def script_options(tools: ReleaseTools, release: str) -> Iterator[tuple[str, ScriptOptions]]:
    """Return the options of each script of a release."""
    for name, main in CLASSES[release].items():
        # The old releases have no --help, and print the usage if there are no arguments.
        calls = (
            [[]]
            if release in OLD_RELEASES
            else [["--help"], *([subcommand, "--help"] for subcommand in COMMANDS.get(name, ()))]
        )
        texts = ["".join(tools.run(release, main, *words)[1:]) for words in calls]
        names = tuple(sorted({option for text in texts for option in OPTION.findall(text)}))
        assert names, f"{name} of {release} prints no options: {texts}"
        accepted, idle = _accepted(name, release)
        yield (
            name,
            ScriptOptions(
                names,
                tuple(option for option in names if option not in accepted),
                tuple(option for option in names if option in idle),
            ),
        )


def _accepted(name: str, release: str) -> tuple[set[str], set[str]]:
    """Return the options that kwire accepts, and those without effect."""
    if name.startswith("kafka.tools."):
        shortened = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.removeprefix("kafka.tools.")).lower()
        if shortened != "get-offset-shell":
            return _of_tool(shortened)
        name = "kafka-get-offsets"
    if name in TOOLS:
        return _of_tool(TOOLS[name][0])
    if name not in MODULES:
        return set(), set()
    # In 3.9.1, kafka-acls still has the options of authorizers with ZooKeeper.
    is_old = name in WITH_ZOOKEEPER and (release in OLD_RELEASES or (release, name) == ("3.9.1", "kafka-acls"))
    scripts = [find_script_with_zookeeper(name)] if is_old else []
    # 0.9 and 0.10 have options for both kinds of consumer groups.
    scripts += [find_script(name)] if not is_old or name == "kafka-consumer-groups" or release == "3.9.1" else []
    options = [option for script in scripts for option in script.options]
    idle = {option.name for option in options if option.help.startswith("Accepted")}
    return {option.name for option in options} | {"help", "version"}, idle


def _of_tool(name: str) -> tuple[set[str], set[str]]:
    tool = find_tool(name)
    assert tool is not None, name
    idle = {words.split()[0].removeprefix("--") for words in tool.without_effect}
    accepted = {option.removeprefix("--") for parameter in click_parameters(tool) for option in parameter.opts}
    return accepted | idle | {"help", "version"}, idle
