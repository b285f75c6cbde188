"""`kafka-consumer-groups`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kwire.client.admin import EARLIEST, LATEST, AdminError, OffsetSpec
from kwire.protocol.errors import ConnectionFault
from kwire_admin.compat.group_descriptions import CONSUMER_TYPES, describe_groups
from kwire_admin.compat.group_options import (
    SHIFTS,
    check_scenario,
    check_views,
    common_options,
    listed,
    need_one_of,
    print_deletions,
    print_new_offsets,
    warn_of_missing,
)
from kwire_admin.compat.offset_deletions import NEWEST, delete_offsets, partitions_of_topics
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import (
    ZOOKEEPER,
    Script,
    ScriptFailed,
    ScriptRefused,
    accepted,
    java_error,
    number_read_late,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, TopicPartition
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun
    from kwire_admin.operations.offset_resets import ResetTarget

FAILURE = "Error: Executing consumer group command failed due to "
ONE_ACTION = "--list, --describe, --delete, --reset-offsets, --delete-offsets"
SCOPES = ("to-offset", "to-earliest", "to-latest", "to-current", "to-datetime", "by-duration", "shift-by", "from-file")
NO_EXECUTE = (
    "WARN: No action will be performed as the --execute option is missing.{announcement} You should add the --dry-run "
    "option explicitly if you are scripting this command and want to keep the current default behavior without "
    "prompting."
)
ANNOUNCEMENTS = (
    (
        "In a future major release, the default behavior of this command will be to prompt the user before executing "
        "the reset rather than doing a dry run."
    ),
    " In version 5.0, this command will require either --dry-run or --execute to be specified.",
)
"""Announcements of 3.9.1 and of 4.4.0. 3.9.1 forgets the blank before its own."""
VIEWS = ("members", "offsets", "state")
AVAILABLE_WITH = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
"""Actions of options that no other action takes."""
STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
"""The states of groups, in the order in which 3.9.1 lists them. 4.4.0 lists them in the order of a Java set."""


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
    """
    values = run.values
    if "validate-regex" in values:
        values.need("bootstrap-server")
        await _validate_regex(run, await run.admin(), values.get("validate-regex") or "")
        return
    _check(run)
    try:
        await _act(run)
    except (AdminError, OSError, ScriptFailed) as error:  # Kafka's script prints these errors and ends with 0
        if isinstance(error, ConnectionFault):
            raise
        run.has_failures = True
        text = error.text if isinstance(error, AdminError) else str(error)
        run.print(f"\n{FAILURE}{text}")


async def _act(run: ScriptRun) -> None:
    values = run.values
    action = values.one_action(ONE_ACTION)
    admin = await run.admin(number_read_late(values, "timeout"))
    if action == "list":
        await _list(run, admin)
    elif action == "describe":
        await describe_groups(run, admin, await _groups(run, admin), FAILURE)
    elif action == "delete":
        await _delete(run, admin)
    elif action == "reset-offsets":
        await _reset(run, admin)
    else:
        await delete_offsets(run, admin, values.all("topic"), is_old=run.is_before(NEWEST))


def _check(run: ScriptRun) -> None:
    """Check the options in the order in which Kafka's script does, since only the first error is printed.

    Raises:
        ScriptUsageError: the options do not fit together.
    """
    values = run.values
    for option, actions in AVAILABLE_WITH.items():
        if option in values and not any(action in values for action in actions):
            raise ScriptUsageError(f"Option(s) [{option}] are unavailable given other options on the command line")
    values.need("bootstrap-server")
    if "describe" in values:
        _need_groups(values, "describe")
        check_views(values, VIEWS)
    if "delete" in values:
        _need_groups(values, "delete")
        if "topic" in values:
            raise ScriptUsageError(
                "The consumer does not support topic-specific offset deletion from a consumer group."
            )
    if "delete-offsets" in values and not ("group" in values and "topic" in values):
        raise ScriptUsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if "reset-offsets" in values:
        if "execute" in values and "dry-run" in values:
            raise ScriptUsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        if "execute" not in values and "dry-run" not in values:
            # And it is a dry run.
            run.warn(NO_EXECUTE.format(announcement=ANNOUNCEMENTS[not run.is_before(NEWEST)]))
        _need_groups(values, "reset-offsets")
        check_scenario(values, SCOPES)
    values.forbid("all-groups", "group")
    values.forbid("list", "group", "topic")
    values.forbid("describe", "topic")
    values.one_action(ONE_ACTION)
    if "new-consumer" in values and "zookeeper" in values:
        raise ScriptUsageError('Option "[zookeeper]" can\'t be used with option "[new-consumer]"')


def _need_groups(values: OptionValues, action: str) -> None:
    need_one_of(values, action, "group", "all-groups")


async def _validate_regex(run: ScriptRun, admin: AdminClient, pattern: str) -> None:
    """Let a broker check a regular expression: its library is RE2, as for subscriptions of consumers (KIP-848)."""
    try:
        await admin.list_transactions(id_pattern=pattern)
    except AdminError as error:
        if error.name != "INVALID_REGULAR_EXPRESSION":
            raise
        run.print(f"The regular expression `{pattern}` is invalid: {error.text}")
    else:
        run.print(f"The regular expression `{pattern}` is valid.")


async def _list(run: ScriptRun, admin: AdminClient) -> None:
    values = run.values
    states, types = _words(values, "state"), _words(values, "type")
    if not types <= {"classic", "consumer"}:
        raise ScriptUsageError(f"Invalid types list '{values.get('type')}'. Valid types are: Consumer, Classic")
    if not states <= {state.lower() for state in STATES}:
        raise ScriptUsageError(f"Invalid state list '{values.get('state')}'. Valid states are: {', '.join(STATES)}")
    groups = [group for group in await admin.list_groups() if group.type.value in CONSUMER_TYPES]
    await warn_of_missing(run, admin)
    groups = [group for group in groups if not states or (group.state or "").lower() in states]
    groups = [group for group in groups if not types or group.type.value in types]
    if "state" not in values and "type" not in values:
        for group in groups:
            run.print(group.group_id)
        return
    width = max([15, *(len(group.group_id) for group in groups)]) + 10
    shown = [name for name in ("type", "state") if name in values]
    rows = [("GROUP", *map(str.upper, shown))]
    for group in groups:
        cells = {"type": group.type.value.title(), "state": group.state or ""}
        rows.append((group.group_id, *(cells[name] for name in shown)))
    run.print_rows(rows, (width, *[20] * len(shown)))


def _words(values: OptionValues, option: str) -> set[str]:
    """Return the words of an option with a list, in lower case."""
    return {text.strip().lower() for text in (values.get(option) or "").split(",") if text.strip()}


async def _groups(run: ScriptRun, admin: AdminClient) -> list[str]:
    if "all-groups" not in run.values:
        return run.values.all("group")
    await warn_of_missing(run, admin)
    return [group.group_id for group in await admin.list_groups() if group.type.value in CONSUMER_TYPES]


async def _delete(run: ScriptRun, admin: AdminClient) -> None:
    names = await _groups(run, admin)
    if not names:
        return
    outcomes = await admin.delete_groups(names)
    run.has_failures = bool(outcomes.errors)
    wrapper = "java.util.concurrent.ExecutionException: " if run.is_before(NEWEST) else ""
    failed = {name: wrapper + java_error(error) for name, error in outcomes.errors.items()}
    print_deletions(run, "consumer", [name for name in names if outcomes[name] is None], failed)


async def chosen_partitions(admin: AdminClient, values: OptionValues, group: str) -> list[TopicPartition]:
    """Return the partitions that `--topic` or `--all-topics` chooses."""
    if "all-topics" in values:
        committed = accepted((await admin.list_group_offsets([group]))[group])
        return sorted(committed)
    chosen = await partitions_of_topics(admin, values.all("topic"))
    if not chosen:
        raise ScriptUsageError("One of the reset scopes should be defined: --all-topics, --topic.")
    return chosen


async def _reset(run: ScriptRun, admin: AdminClient) -> None:
    values = run.values
    if not any(scope in values for scope in SCOPES):
        raise ScriptUsageError(f"Option [reset-offsets] requires one of the following scenarios: [{listed(SCOPES)}]")
    rows: list[tuple[str, str, int, int]] = []
    groups = await _groups(run, admin)
    described = await admin.describe_groups(groups)
    for group in groups:
        description = described[group]
        if not isinstance(description, AdminError) and description.state not in ("Empty", "Dead"):
            run.has_failures = True
            run.print(
                f"\nError: Assignments can only be reset if the group '{group}' is inactive, but the current state is "
                f"{description.state}."
            )
            continue
        targets = await plan_targets(run, admin, group)
        if "execute" in values and targets:
            (await admin.alter_group_offsets(group, targets)).raise_first()
        rows += [(group, partition.topic, partition.partition, offset) for partition, offset in targets.items()]
    is_old = run.is_before(NEWEST)
    widths = (30, 30, 10, 15) if is_old else (15, 15, 10)
    print_new_offsets(run, rows, widths, fixed=is_old, one_group=len(values.all("group")) == 1)


async def plan_targets(
    run: ScriptRun, admin: AdminClient, group: str, partitions: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, int]:
    """Return the new offset of each partition. An offset outside of the log becomes the nearer end, as in Kafka.

    Args:
        partitions: the partitions; None for the partitions in the options. A file names its own.
    """
    from kwire_admin.operations.offset_resets import NoCommittedOffset, plan_offsets

    target = reset_target(run.values, group)
    if target == {}:
        run.print(f"\nError: No reset plan for group {group} found{'' if run.is_before(NEWEST) else '.'}")
        return {}
    if isinstance(target, dict):
        partitions = [*target]
    elif partitions is None:
        partitions = await chosen_partitions(admin, run.values, group)
    committed = accepted((await admin.list_group_offsets([group]))[group])
    targets: dict[TopicPartition, int] = {}
    try:
        plan = await plan_offsets(admin, committed, partitions, target)
    except NoCommittedOffset as error:
        raise ScriptUsageError(
            f"Cannot shift offset for partition {error.partition} since there is no current committed offset"
        ) from None
    for partition, planned in plan.items():
        if isinstance(planned, AdminError):
            raise planned
        if planned.is_beyond:
            run.print(
                f"\nWarn: Partition {partition.partition} from topic {partition.topic} is empty. Falling back to "
                "latest known offset."
            )
        targets[partition] = planned.after
    return targets


def reset_target(values: OptionValues, group: str) -> ResetTarget:
    """Return the target that the options name.

    Raises:
        ScriptRefused: a file, a time, or a duration is invalid.
    """
    from pathlib import Path

    from kwire_admin.operations.offset_resets import (
        CommittedTarget,
        OffsetShift,
        parse_duration,
        read_offsets,
        time_before,
    )
    from kwire_admin.operations.parameters import InvalidArgument

    # The parser of the options has made sure that exactly one of them is given.
    if "to-earliest" in values:
        return EARLIEST
    if "to-latest" in values:
        return LATEST
    if "to-current" in values:
        return CommittedTarget.CURRENT
    offset, shift = (number_read_late(values, option) for option in ("to-offset", "shift-by"))
    date = values.get("to-datetime")
    if offset is not None:
        return offset
    if shift is not None:
        return OffsetShift(shift)
    if date is not None:
        try:
            moment = datetime.fromisoformat(date)
        except ValueError:
            reason = f'Unparseable date: "{date}"'
            if "T" not in date:
                reason = "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"
            raise ScriptRefused(f"java.text.ParseException: {reason}") from None
        return OffsetSpec(int((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    duration = values.get("by-duration")
    try:
        if duration is None:
            return read_offsets(Path(values.get("from-file") or ""), group)
        return time_before(parse_duration(duration))
    except InvalidArgument as error:
        reason = str(error) if duration is None else "Text cannot be parsed to a Duration"
        raise ScriptRefused(reason) from None


consumer_groups = Script(
    "kafka-consumer-groups",
    ("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "kafka.admin.ConsumerGroupCommand"),
    (
        ZOOKEEPER,
        *common_options("consumer"),
        *SHIFTS,
        ScriptOption("topic", "The topics whose offsets are deleted or reset, as TOPIC or TOPIC:0,1.", "topic"),
        ScriptOption("all-topics", "With --reset-offsets, consider all topics of the group."),
        ScriptOption("type", "With --list, the types: all, or Classic, Consumer.", "types", optional=True),
        ScriptOption("validate-regex", "Let a broker of Kafka 4.1 check a regular expression (RE2).", "regex"),
        ScriptOption("new-consumer", "Groups of brokers: with it, --zookeeper is refused."),
    ),
    run,
    FAILURE,
)
