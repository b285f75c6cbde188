"""The scripts by name and by the names of Kafka's classes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kwire._util.products import part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_admin.compat.script import Script

__all__ = ["SCRIPTS", "find_script", "run_class", "run_script", "scripts_of"]

_OWN_MODULES = (
    *("acls", "broker_api_versions", "client_metrics", "cluster", "configs", "consumer_groups", "delegation_tokens"),
    *("delete_records", "features", "get_offsets", "groups", "leader_election", "log_dirs", "metadata_quorum"),
    *("reassign_partitions", "share_groups", "streams_groups", "topics", "transactions"),
)
_WITH_ZOOKEEPER = (
    *("acls", "configs", "consumer_groups", "preferred_replica_election", "reassign_partitions", "topics"),
)
MODULES = {f"kafka-{name.replace('_', '-')}": name for name in _OWN_MODULES} | {
    "kafka-preferred-replica-election": "leader_election"
}
"""Module of each script. A run imports only its own."""
WITH_ZOOKEEPER = {f"kafka-{name.replace('_', '-')}": name for name in _WITH_ZOOKEEPER}
"""Module of each script that finds the cluster in ZooKeeper, in place of the module in MODULES."""
OLD_RELEASES = ("0.8.2.2", "0.9.0.1", "0.10.2.2")
"""Releases with the scripts of WITH_ZOOKEEPER that a run can follow."""
NEW_RELEASES = ("3.9.1", "4.4.0")
"""Releases without ZooKeeper in their scripts that a run can follow, the default first."""
TOOLS = {
    "kafka-add-partitions": ("add-partitions",),
    "kafka-check-reassignment-status": ("reassign-partitions", "--verify"),
    "kafka-consumer-offset-checker": ("consumer-offset-checker",),
    "kafka-create-topic": ("create-topic",),
    "kafka-delete-topic": ("delete-topic",),
    "kafka-dump-log": ("dump-log-segments",),
    "kafka-jmx": ("jmx-tool",),
    "kafka-list-topic": ("list-topic",),
    "kafka-mirror-maker": ("mirror-maker",),
    "kafka-replay-log-producer": ("replay-log-producer",),
    "kafka-replica-verification": ("replica-verification-tool",),
    "kafka-simple-consumer-shell": ("simple-consumer-shell",),
}
"""Tool of each script that is nothing but a tool, and its first arguments."""
RUN_CLASS = "kafka-run-class"
SCRIPTS = (*sorted((*MODULES, *TOOLS)), RUN_CLASS)
"""The names of all scripts, without `.sh`."""


_SCRIPTS_OF_0_8 = (
    *("kafka-consumer-offset-checker", "kafka-mirror-maker", "kafka-preferred-replica-election"),
    *("kafka-reassign-partitions", "kafka-replay-log-producer", "kafka-replica-verification", RUN_CLASS),
    *("kafka-simple-consumer-shell", "kafka-topics"),
)
_SCRIPTS_OF_0_9 = ("kafka-acls", "kafka-configs", "kafka-consumer-groups")
_SCRIPTS_OF_4 = (
    *MODULES.keys()
    - {"kafka-groups", "kafka-share-groups", "kafka-streams-groups", "kafka-preferred-replica-election"},
    *("kafka-dump-log", "kafka-jmx", "kafka-replica-verification", RUN_CLASS),
)
SCRIPTS_OF_RELEASES = {
    "0.8.2.2": tuple(sorted(_SCRIPTS_OF_0_8)),
    "0.9.0.1": tuple(sorted((*_SCRIPTS_OF_0_8, *_SCRIPTS_OF_0_9))),
    "0.10.2.2": tuple(sorted((*_SCRIPTS_OF_0_8, *_SCRIPTS_OF_0_9, "kafka-broker-api-versions"))),
    "3.9.1": tuple(sorted((*_SCRIPTS_OF_4, "kafka-mirror-maker"))),
    "4.4.0": tuple(sorted((*_SCRIPTS_OF_4, "kafka-groups", "kafka-share-groups", "kafka-streams-groups"))),
}
"""Those of SCRIPTS that the folder `bin` of a release had."""


def scripts_of(release: str | None) -> tuple[str, ...]:
    """Return the scripts that a release had; all of them for None."""
    return SCRIPTS if release is None else SCRIPTS_OF_RELEASES[release]


def find_script(name: str) -> Script:
    """Return the script of a name in MODULES.

    Raises:
        KeyError: the name is unknown.
    """
    module = import_module(f"kwire_admin.compat.scripts.{MODULES[name]}")
    script: Script = getattr(module, name.removeprefix("kafka-").replace("-", "_"))
    return script


def find_script_with_zookeeper(name: str) -> Script:
    """Return the script of a name in WITH_ZOOKEEPER.

    Raises:
        KeyError: the name is unknown.
        MissingProduct: kwire-zookeeper-tools is not installed.
    """
    package = part("scripts-with-zookeeper", f"{name} with ZooKeeper")
    module = import_module(f"{package.__name__}.{WITH_ZOOKEEPER[name]}")
    script: Script = module.script
    return script


def _names(arguments: Sequence[str], *options: str) -> bool:
    """Return whether the arguments name one of some options."""
    given = {argument.partition("=")[0].lstrip("-") for argument in arguments if argument.startswith("-")}
    return not given.isdisjoint(options)


def run_script(name: str, arguments: Sequence[str], release: str | None = None) -> int:
    """Run a script of SCRIPTS, and return its exit code.

    Args:
        name: the script without `.sh`.
        arguments: its arguments.
        release: one of OLD_RELEASES or NEW_RELEASES, to print and to end as its script does; None for 0.10.2.2 with
            ZooKeeper, and for 3.9.1 with brokers, and for the exit code 1 after each error.

    Raises:
        KeyError: the name is unknown.
    """
    if name == RUN_CLASS:
        return run_class(arguments, release)
    if name in TOOLS:
        from kwire_admin.compat.script import print_version

        tool, *words = TOOLS[name]
        return (
            print_version() if "--version" in arguments else int(part("tool-runner", name)(tool, [*words, *arguments]))
        )
    new = release if release in NEW_RELEASES else None
    old = release if release in OLD_RELEASES else None
    is_old = old is not None and not _names(arguments, "bootstrap-server")
    is_old = is_old or _names(arguments, "zookeeper", "authorizer-properties")
    if name in WITH_ZOOKEEPER and is_old and not _names(arguments, "new-consumer"):
        return find_script_with_zookeeper(name).run(arguments, old)
    return find_script(name).run(arguments, new or NEW_RELEASES[0])


def run_class(arguments: Sequence[str], release: str | None = None) -> int:
    """Run the script or tool that takes the place of a class of Kafka, as `kafka-run-class` does."""
    import sys

    if not arguments:
        print("USAGE: kafka-run-class classname [opts]", file=sys.stderr)
        return 1
    name, *rest = arguments
    scripts = {main: script for script in MODULES for main in find_script(script).classes}
    if name in scripts:
        return run_script(scripts[name], rest, release)
    from kwire_admin.operations.registry import find_tools

    classes = sorted(replace for tool in find_tools().tools.values() for replace in tool.replaces)
    if name in classes:
        [tool] = [tool for tool, entry in find_tools().tools.items() if name in entry.replaces][:1]
        return int(part("tool-runner", name)(tool, rest))
    from kwire._util.similar_names import similar

    suggested = similar(name, (*scripts, *classes))
    hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
    print(f"Error: kwire has nothing in place of the class {name}{hint}", file=sys.stderr)
    return 1
