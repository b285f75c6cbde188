"""Scripts that find the cluster in ZooKeeper, with the options, lines, and exit codes of Kafka 0.8.2.2 to 0.10.2.2.

`ScriptRun.release` chooses among the lines of these releases. `tests/kafka/oracle` compares them with
Kafka's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_admin.compat.script import ScriptRun
    from kwire_zookeeper_tools.tool_run import ToolRun

INTEGERS = frozenset(
    {"index.interval.bytes", "max.message.bytes", "min.insync.replicas", "segment.bytes", "segment.index.bytes"}
)
"""Configs of topics with 32 bits; other numbers have 64."""


def tool_run(run: ScriptRun, hosts: str | None = None) -> ToolRun:
    """Return the run of a tool that finds the brokers in ZooKeeper and prints as the script does, which closes it.

    If a tool runs the script, it is the run of that tool.

    Args:
        run: the run of the script.
        hosts: the connect string; None for the value of `--zookeeper`.
    """
    from kwire_admin.compat.script import write
    from kwire_zookeeper_tools.tool_run import NO_CLUSTER, ToolRun

    if isinstance(run.caller, ToolRun):
        return run.caller
    tool = ToolRun(NO_CLUSTER, {"zookeeper": run.values.get("zookeeper") or "" if hosts is None else hosts}, write)
    run.opened.push_async_callback(tool.close)
    return tool


def unknown_config(run: ScriptRun, name: str) -> str:
    """Return the sentence of the release for a config that topics do not have."""
    old = f'requirement failed: Unknown configuration "{name}".'
    return old if run.is_before("0.10.0.0") else f"Unknown Log configuration {name}."


def config_sentence(run: ScriptRun, configs: Mapping[str, str]) -> str | None:
    """Return the sentence of the release for the first invalid config of a topic, which nodes of kwire do not name.

    None if the release has another one, such as for a number out of its range.
    """
    from kwire_cluster.config.topic_settings import TOPIC_SETTINGS

    for name, value in configs.items():
        if name not in TOPIC_SETTINGS:
            return unknown_config(run, name)
        is_number = value.strip().removeprefix("-").isdigit()
        if not is_number and name.endswith((".ms", ".bytes", ".messages", ".replicas")):
            if run.is_before("0.9.0.0"):
                return f'For input string: "{value}"'
            kind = "INT" if name in INTEGERS else "LONG"
            return f"Invalid value {value} for configuration {name}: Not a number of type {kind}"
    return None
