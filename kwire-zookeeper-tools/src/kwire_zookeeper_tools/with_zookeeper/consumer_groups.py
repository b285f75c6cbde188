"""`kafka-consumer-groups --zookeeper`: groups in ZooKeeper, never those of the brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed
from kwire_admin.compat.scripts.consumer_groups import consumer_groups
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from kwire_admin.compat.script import ScriptRun

NOTE = (
    "Note: This will only show information about consumers that use ZooKeeper (not those using the Java consumer API)."
)


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a group does not exist, or has consumers.
    """
    from kwire_admin.operations.declaration import ToolFailed
    from kwire_zookeeper_tools.offsets.zookeeper_groups import delete_groups, describe_groups, list_groups

    values = run.values
    action = values.one_action("--list, --describe, --delete")
    values.need("zookeeper")
    groups, topics = values.all("group"), values.all("topic")
    if action == "describe" or (action == "delete" and not topics):
        values.need("group")
    if topics and action != "delete":
        raise ScriptUsageError(f"Option [topic] cannot be used with option [{action}]")
    if not run.is_before("0.10.0.0"):
        run.warn(NOTE)
    tool = tool_run(run)
    if action == "list":
        for name in await list_groups(tool):
            run.print(name)
        return
    try:
        if action == "delete":
            await delete_groups(tool, groups, topics, old=run.is_before("0.10.0.0"))
            return
        existing = await list_groups(tool)
        missing = next((group for group in groups if group not in existing), None)
        if missing is not None and not run.is_before("0.10.0.0"):
            raise ScriptFailed(f"Error: The consumer group '{missing}' does not exist.", on_stdout=True)
        await describe_groups(tool, groups, old=run.is_before("0.10.0.0"))
    except ToolFailed:
        raise ScriptFailed("", on_stdout=True) from None


script = Script(
    "kafka-consumer-groups",
    ("kafka.admin.ConsumerGroupCommand",),
    (
        ZOOKEEPER,
        *consumer_groups.chosen_options("list", "describe", "delete", "group"),
        ScriptOption("topic", "The topic whose consumer group information should be deleted.", "topic"),
    ),
    run,
    "Error: ",
    banner="List all consumer groups, describe a consumer group, or delete consumer group info.",
    codes=dict.fromkeys(("0.9.0.1", "0.10.2.2"), 0),
)
