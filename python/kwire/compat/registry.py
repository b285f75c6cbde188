"""The scripts by name and by the names of Kafka's classes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.compat.script import Script

__all__ = ["SCRIPTS", "find_script", "run_class", "run_script"]

MODULES = {
    "kafka-acls": "acls",
    "kafka-configs": "configs",
    "kafka-consumer-groups": "consumer_groups",
    "kafka-features": "features",
    "kafka-get-offsets": "get_offsets",
    "kafka-leader-election": "leader_election",
    "kafka-log-dirs": "log_dirs",
    "kafka-metadata-quorum": "metadata_quorum",
    "kafka-preferred-replica-election": "leader_election",
    "kafka-reassign-partitions": "reassign_partitions",
    "kafka-topics": "topics",
}
"""Module of each script. A run imports only its own."""
RUN_CLASS = "kafka-run-class"
SCRIPTS = (*MODULES, RUN_CLASS)
"""The names of all scripts, without `.sh`."""


def find_script(name: str) -> Script:
    """Return the script of a name in MODULES.

    Raises:
        KeyError: the name is unknown.
    """
    module = import_module(f"kwire.compat.scripts.{MODULES[name]}")
    script: Script = getattr(module, name.removeprefix("kafka-").replace("-", "_"))
    return script


def run_script(name: str, arguments: Sequence[str]) -> int:
    """Run a script of SCRIPTS, and return its exit code.

    Raises:
        KeyError: the name is unknown.
    """
    return run_class(arguments) if name == RUN_CLASS else find_script(name).run(arguments)


def run_class(arguments: Sequence[str]) -> int:
    """Run the script or tool that takes the place of a class of Kafka, as `kafka-run-class` does."""
    import sys

    if not arguments:
        print("USAGE: kafka-run-class classname [opts]", file=sys.stderr)
        return 1
    name, *rest = arguments
    for script in map(find_script, MODULES):
        if name in script.classes:
            return script.run(rest)
    from kwire.operations import find_tools

    classes = sorted(each for tool in find_tools().tools.values() for each in tool.replaces)
    if name in classes:
        from kwire.compat.script import run_tool

        [tool] = [each for each, found in find_tools().tools.items() if name in found.replaces][:1]
        return run_tool(tool, rest)
    from kwire.operations.registry import similar

    suggested = similar(name, tuple(classes))
    hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
    print(f"Error: kwire has nothing in place of the class {name}{hint}", file=sys.stderr)
    return 1
