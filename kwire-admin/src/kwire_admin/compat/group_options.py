"""Options and lines that the scripts of groups have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, java_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal, TypeAlias

    from kwire.client.admin import AdminClient, GroupListing, GroupType, TopicPartition
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

    Coordinated: TypeAlias = Literal["groups", "transactional ids"]

EXECUTION = ("execute", "dry-run")


def check_action(values: OptionValues, *, before_last: str, views: Iterable[str]) -> str:
    """Return the action, after a check of the options that go with it.

    Args:
        before_last: the text before the last action of the error, such as `or `.
        views: options that exclude each other with `--describe`.

    Raises:
        ScriptUsageError: the options do not fit together.
    """
    action = values.one_action(f"--list, --describe, --delete, --reset-offsets, {before_last}--delete-offsets.")
    values.need("bootstrap-server")
    if action == "describe":
        need_one_of(values, action, "all-groups", "group")
        check_views(values, views)
    return action


def check_views(values: OptionValues, views: Iterable[str]) -> None:
    """Check that a description has at most one view, and no value for `--state`.

    Raises:
        ScriptUsageError: the options do not fit together.
    """
    if sum(view in values for view in views) > 1:
        raise ScriptUsageError(f"Option [describe] takes at most one of these options: {listed(views)}")
    if values.get("state") is not None:
        raise ScriptUsageError("Option [describe] does not take a value for [state]")


def need_one_of(values: OptionValues, action: str, *names: str) -> None:
    """Check that an action has one of some options.

    Raises:
        ScriptUsageError: none is given.
    """
    if not any(name in values for name in names):
        raise ScriptUsageError(f"Option [{action}] takes one of these options: {listed(names)}")


def check_execution(values: OptionValues) -> None:
    """Check that a reset of offsets is either executed or a dry run.

    Raises:
        ScriptUsageError: both options are given, or none.
    """
    given = [option for option in EXECUTION if option in values]
    if len(given) == 2:
        raise ScriptUsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given:
        raise ScriptUsageError("Option [reset-offsets] takes the option: [execute] or [dry-run]")


def check_scenario(values: OptionValues, scenarios: Iterable[str]) -> None:
    """Check that at most one target of a reset is given.

    Raises:
        ScriptUsageError: there are two.
    """
    given = sorted(scenario for scenario in scenarios if scenario in values)
    if len(given) > 1:
        values.forbid(given[1], given[0])


def listed(names: Iterable[str]) -> str:
    """Return options as an error of Kafka lists them."""
    return ", ".join(f"[{name}]" for name in names)


async def print_groups(run: ScriptRun, admin: AdminClient, type: GroupType, states: Sequence[str]) -> None:
    """Print the groups of a type, with their states if the option is given.

    Raises:
        ScriptUsageError: groups of the type have no such state.
    """
    requested = [text.strip().lower() for text in (run.values.get("state") or "").split(",") if text.strip()]
    if not {*requested} <= {state.lower() for state in states}:
        raise ScriptUsageError(f"Invalid state list '{run.values.get('state')}'. Valid states are: {', '.join(states)}")
    groups = await admin.list_groups(types=[type], states=requested)
    await warn_of_missing(run, admin)
    if "state" not in run.values:
        for group in groups:
            run.print(group.group_id)
        return
    run.print_rows([("GROUP", "STATE"), *((group.group_id, group.state or "Unknown") for group in groups)], (15,))


def print_new_offsets(
    run: ScriptRun, rows: Sequence[tuple[str, str, int, int]], widths: Sequence[int], *, fixed: bool, one_group: bool
) -> None:
    """Print the offsets of a reset, as a table or with `--export` as CSV.

    Args:
        rows: group, topic, partition, and offset.
        widths: see `ScriptRun.print_rows`.
        fixed: see there.
        one_group: true to leave the group out of CSV.
    """
    if "export" not in run.values:
        run.print()
        run.print_rows([("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *rows], widths, fixed=fixed)
        return
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(row[1:] if one_group else row for row in rows)
    run.print(text.getvalue())


async def coordinator_text(admin: AdminClient, id: int, *, gap: str) -> str:
    """Return the address and the id of a coordinator, with a gap of blanks between them."""
    brokers = {broker.id: broker for broker in (await admin.describe_cluster()).brokers}
    broker = brokers.get(id)
    return "-" if broker is None else f"{broker.host}:{broker.port}{gap}({broker.id})"


async def warn_of_missing(run: ScriptRun, admin: AdminClient, what: Coordinated = "groups") -> None:
    """Warn on stderr of groups or transactional ids that a list lacks because no broker coordinates them.

    Kafka's scripts do not: their lists look complete.
    """
    from kwire_admin.operations.run import Run
    from kwire_admin.operations.visibility import warn_of_unknown

    await warn_of_unknown(Run(admin, warn=lambda sentence: run.warn(f"WARN: {sentence}")), what, {})


def warn_of_unknown_ends(run: ScriptRun, errors: Mapping[TopicPartition, AdminError]) -> None:
    """Say on stderr why the end of a log, and so a lag, is a dash."""
    for partition, error in errors.items():
        run.warn(f"WARN: the log end of {partition} is not known: {error.reason}.")


async def chosen_groups(run: ScriptRun, admin: AdminClient, type: GroupType) -> list[str]:
    """Return the groups that the options name."""
    values = run.values
    if "all-groups" in values:
        await warn_of_missing(run, admin)
        return [group.group_id for group in await admin.list_groups(types=[type])]
    return [*dict.fromkeys(values.all("group"))]


async def delete_groups(
    run: ScriptRun, admin: AdminClient, type: GroupType, unknown: Callable[[str], str], nothing: str
) -> None:
    """Delete groups without members, and print the outcome of each.

    Args:
        unknown: returns the error for a group that does not exist, or has another type.
        nothing: text instead of the groups if there are none.
    """
    kind = type.value
    groups: Mapping[str, GroupListing] = {group.group_id: group for group in await admin.list_groups(types=[type])}
    failed: dict[str, str] = {}
    chosen = await chosen_groups(run, admin, type)
    unlisted = await admin.describe_groups([name for name in chosen if name not in groups])
    for name in chosen:
        if name not in groups:
            answer = unlisted[name]
            if isinstance(answer, AdminError) and answer.code != ErrorCode.GROUP_ID_NOT_FOUND:
                failed[name] = java_error(answer)
            else:
                failed[name] = unknown(name)
        elif groups[name].state != "Empty":
            failed[name] = (
                f"org.apache.kafka.common.errors.GroupNotEmptyException: {kind.title()} group '{name}' is not EMPTY."
            )
    empty = [name for name in chosen if name not in failed]
    outcomes: Mapping[str, AdminError | None] = await admin.delete_groups(empty) if empty else {}
    failed |= {name: java_error(error) for name, error in outcomes.items() if error is not None}
    print_deletions(run, kind, [name for name, error in outcomes.items() if error is None], failed, nothing)


def print_deletions(
    run: ScriptRun, kind: str, deleted: Iterable[str], failed: Mapping[str, str], nothing: str = ""
) -> None:
    """Print the outcome of a deletion of groups.

    Args:
        failed: the reasons by group.
        nothing: text instead of the groups if there are none.
    """
    done = ", ".join(f"'{name}'" for name in deleted)
    if not failed:
        run.print(f"Deletion of requested {kind} groups ({done or nothing}) was successful.")
        return
    run.print(f"\nError: Deletion of some {kind} groups failed:")
    for name, error in failed.items():
        run.print(f"* Group '{name}' could not be deleted due to: {error}")
    if done:
        run.print(f"\nThese {kind} groups were deleted successfully: {done}")


SHIFTS = (
    ScriptOption("by-duration", "Reset offsets to a time before now, such as P1DT12H.", "duration"),
    ScriptOption("shift-by", "Reset offsets by a positive or negative number of records.", "count", "Long"),
)
"""Options of a reset that share groups do not have."""


def common_options(kind: str) -> tuple[ScriptOption, ...]:
    """Return the options that all scripts of groups have."""
    return (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("list", f"List all {kind} groups."),
        ScriptOption("describe", f"Describe {kind} groups, their members, and their offsets."),
        ScriptOption("delete", f"Delete {kind} groups."),
        ScriptOption("reset-offsets", f"Reset offsets of a {kind} group without members."),
        ScriptOption("delete-offsets", f"Delete offsets of a {kind} group."),
        ScriptOption("group", f"The {kind} group.", "group id"),
        ScriptOption("all-groups", f"Apply to all {kind} groups."),
        ScriptOption("members", "With --describe, describe the members of the group."),
        ScriptOption("offsets", "With --describe, list the offsets of the group. This is the default."),
        ScriptOption("state", "The states of groups; with --list, only these states.", optional=True, value="states"),
        ScriptOption("verbose", "With --describe, provide additional information."),
        ScriptOption("timeout", "Timeout in milliseconds.", "timeout (ms)", "Long"),
        ScriptOption("dry-run", "With --reset-offsets, print the new offsets without executing changes."),
        ScriptOption("execute", "With --reset-offsets, execute the operation."),
        ScriptOption("export", "With --reset-offsets, print the new offsets as CSV."),
        ScriptOption("from-file", "Reset offsets to values defined in CSV file.", "path to CSV file"),
        ScriptOption("to-current", "Reset offsets to current offset."),
        ScriptOption("to-datetime", "Reset offsets to a time, as YYYY-MM-DDThh:mm:ss.sss.", "datetime"),
        ScriptOption("to-earliest", "Reset offsets to earliest offset."),
        ScriptOption("to-latest", "Reset offsets to latest offset."),
        ScriptOption("to-offset", "Reset offsets to a specific offset.", "offset", "Long"),
    )
