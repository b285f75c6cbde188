"""`kafka-groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import GroupType
from kwire_admin.compat.group_options import warn_of_missing
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed

if TYPE_CHECKING:
    from kwire.client.admin import GroupListing
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

KINDS = ("consumer", "share", "streams")
WIDTH = 20
"""Minimum width of a column."""


async def run(run: ScriptRun) -> None:
    """List groups of all types.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: the type of groups is unknown.
    """
    values = run.values
    if "bootstrap-server" not in values:
        raise ScriptUsageError("Missing required option(s) [bootstrap-server]")
    values.one_action("--list.")
    type = values.get("group-type")
    if type is not None and GroupType.of(type.lower()) is GroupType.UNKNOWN:
        raise ScriptFailed("--group-type must be a valid group type.")
    for kind in KINDS:
        for other in ("group-type", "protocol", *KINDS):
            if other != kind:
                values.forbid(other, kind)
    admin = await run.admin()
    groups = [group for group in await admin.list_groups() if _is_chosen(values, group)]
    await warn_of_missing(run, admin)
    rows = [
        ("GROUP", "TYPE", "PROTOCOL"),
        *((group.group_id, group.type.value.title(), group.protocol_type) for group in groups),
    ]
    width = max(WIDTH, *(len(cell) for row in rows for cell in row))
    for row in rows:
        run.print(" ".join(f"{cell:<{width}}" for cell in row))


def _is_chosen(values: OptionValues, group: GroupListing) -> bool:
    type, protocol = values.get("group-type"), values.get("protocol")
    if type is not None or protocol is not None:
        return type in (None, group.type.value) and protocol in (None, group.protocol_type)
    if "consumer" in values:
        return group.protocol_type in ("consumer", "") or group.type.value == "consumer"
    chosen = [kind for kind in KINDS if kind in values]
    return not chosen or group.type.value in chosen


groups = Script(
    "kafka-groups",
    ("org.apache.kafka.tools.GroupsCommand",),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("list", "List the groups."),
        ScriptOption("group-type", "Only groups of this type: classic, consumer, share, or streams.", "type"),
        ScriptOption("protocol", "Only groups of this protocol type.", "protocol"),
        ScriptOption("consumer", "Only groups with the type 'consumer', or the protocol type 'consumer' or none."),
        ScriptOption("share", "Only share groups."),
        ScriptOption("streams", "Only streams groups."),
    ),
    run,
    "Error while executing groups command : ",
    banner="Missing required option(s) [bootstrap-server]",
)
