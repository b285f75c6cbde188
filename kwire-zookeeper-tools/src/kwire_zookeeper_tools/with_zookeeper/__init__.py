"""Scripts that find the cluster in ZooKeeper, with the options, lines, and exit codes of Kafka 0.8.2.2 to 0.10.2.2.

`ScriptRun.release` chooses among the lines of these releases. `tests/kafka/oracle` of kwire-admin compares them with Kafka's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_admin.compat.script import ScriptRun
    from kwire_zookeeper_tools.tool_run import ToolRun


def tool_run(run: ScriptRun, hosts: str | None = None) -> ToolRun:
    """Return the run of a tool that finds the brokers in ZooKeeper and prints as the script does, which closes it.

    Args:
        run: the run of the script.
        hosts: the connect string; None for the value of `--zookeeper`.
    """
    from kwire_admin.compat.script import write
    from kwire_zookeeper_tools.tool_run import NO_CLUSTER, ToolRun

    tool = ToolRun(NO_CLUSTER, {"zookeeper": run.values.get("zookeeper") or "" if hosts is None else hosts}, write)
    run.opened.push_async_callback(tool.close)
    return tool
