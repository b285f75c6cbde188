"""`kafka-share-groups` (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin import AdminError, GroupType
from kwire_admin.compat.group_options import (
    check_action,
    check_execution,
    check_scenario,
    chosen_groups,
    common_options,
    coordinator_text,
    delete_groups,
    need_one_of,
    print_groups,
    print_new_offsets,
)
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import Script, ScriptFailed, accepted, java_error

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient, CommittedOffset, TopicPartition
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

FAILURE = "\nError: Executing share group command failed due to "
STATES = ("Dead", "Stable", "Empty")
SCOPES = ("all-topics", "from-file", "topic")
SCENARIOS = ("from-file", "to-current", "to-datetime", "to-earliest", "to-latest", "to-offset")


async def run(run: ScriptRun) -> None:
    """List, describe, or delete share groups, or change their offsets.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a group has members.
    """
    values = run.values
    values.forbid("list", "group")
    action = check_action(values, before_last="", views=("members", "offsets", "state"))
    if action == "delete":
        if "group" not in values and "all-groups" not in values:
            raise ScriptUsageError("Option [delete] takes the options [group] or [all-groups].")
        if "group" in values and "all-groups" in values:
            raise ScriptUsageError("Option [delete] takes either [group] or [all-groups], not both.")
    if action == "delete-offsets" and not ("group" in values and "topic" in values):
        raise ScriptUsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if action == "reset-offsets":
        check_execution(values)
        if "group" not in values:
            raise ScriptUsageError("Option [reset-offsets] takes the option: [group]")
        need_one_of(values, action, *SCOPES)
        need_one_of(values, action, *SCENARIOS)
        check_scenario(values, SCENARIOS)
    admin = await run.admin(values.number("timeout"))
    if action == "list":
        await print_groups(run, admin, GroupType.SHARE, STATES)
    else:
        await ACTIONS[action](run, admin, values)


async def _delete(run: ScriptRun, admin: AdminClient, _: OptionValues) -> None:
    await delete_groups(run, admin, GroupType.SHARE, _not_a_share_group, "")


def _not_a_share_group(group: str) -> str:
    return f"org.apache.kafka.common.errors.GroupIdNotFoundException: Group '{group}' is not a share group."


async def _describe(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    names = sorted(await chosen_groups(run, admin, GroupType.SHARE))
    described = await admin.describe_groups_of_type(names, GroupType.SHARE)
    for name in names:
        described_group = described[name]
        if isinstance(described_group, AdminError):  # Kafka's script ends with 0
            run.print(FAILURE + java_error(described_group))
            return
        group, coordinator = described_group
        if "members" in values:
            _print_members(run, group)
        elif "state" in values:
            await _print_state(run, admin, group, coordinator)
        else:
            await _print_offsets(run, admin, name)


async def _print_offsets(run: ScriptRun, admin: AdminClient, group: str) -> None:
    offsets = await _offsets(admin, group, include_unset=True)
    if not offsets:
        run.print(f"\nShare group '{group}' has no offset information.")
        return
    verbose = "verbose" in run.values
    rows: list[tuple[object, ...]] = [
        ("GROUP", "TOPIC", "PARTITION", *(["LEADER-EPOCH"] if verbose else []), "START-OFFSET", "LAG")
    ]
    for partition, offset in sorted(offsets.items()):
        epoch = [_or_dash(offset.leader_epoch if offset.offset >= 0 else None)] if verbose else []
        rows.append(
            (group, *partition, *epoch, _or_dash(offset.offset if offset.offset >= 0 else None), _or_dash(offset.lag))
        )
    run.print()
    run.print_rows(rows, (15, 15, 10, 13, *([13] * verbose)))


async def _print_state(run: ScriptRun, admin: AdminClient, group: Any, coordinator: int) -> None:
    _warn_if_empty(run, group)
    address = await coordinator_text(admin, coordinator, gap="  ")
    epochs = {"GROUP-EPOCH": group.group_epoch, "ASSIGNMENT-EPOCH": group.assignment_epoch}
    if "verbose" not in run.values:
        epochs.clear()
    titles = ("GROUP", "COORDINATOR (ID)", "STATE", *epochs, "#MEMBERS")
    row = (group.group_id, address, group.group_state, *epochs.values(), len(group.members))
    run.print()
    run.print_rows([titles, row], (15, 25, 15, 12, 17)[: len(titles) - 1])


def _print_members(run: ScriptRun, group: Any) -> None:
    _warn_if_empty(run, group)
    if not group.members:
        return
    verbose = "verbose" in run.values
    titles = ("CONSUMER-ID", "HOST", "CLIENT-ID")
    members = sorted(((member.member_id, member.client_host, member.client_id), member) for member in group.members)
    rows: list[tuple[object, ...]] = [
        ("GROUP", *titles, "#PARTITIONS", *(["MEMBER-EPOCH"] if verbose else []), "ASSIGNMENT")
    ]
    for names, member in members:
        assigned = {topic.topic_name: sorted(topic.partitions) for topic in member.assignment.topic_partitions}
        count = sum(map(len, assigned.values()))
        text = ";".join(f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in sorted(assigned.items()))
        rows.append((group.group_id, *names, count, *([member.member_epoch] if verbose else []), text))
    run.print()
    run.print_rows(rows, (15, 15, 15, 15, 12, *([13] * verbose)))


def _warn_if_empty(run: ScriptRun, group: Any) -> None:
    if group.group_state == "Empty":
        run.warn(f"\nShare group '{group.group_id}' has no active members.")


def _or_dash(number: int | None) -> object:
    return "-" if number is None else number


async def _offsets(
    admin: AdminClient, group: str, *, include_unset: bool = False
) -> dict[TopicPartition, CommittedOffset]:
    return accepted((await admin.list_share_group_offsets([group], include_unset=include_unset))[group])


async def _reset(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    from kwire_admin.compat.scripts.consumer_groups import chosen_partitions, reset_target
    from kwire_admin.operations.offset_resets import plan_offsets

    group = values.get("group") or ""
    described = (await admin.describe_groups_of_type([group], GroupType.SHARE))[group]
    if not isinstance(described, AdminError) and described[0].group_state not in ("Empty", "Dead"):
        raise ScriptFailed(f"Share group '{group}' is not empty.")
    committed = {} if isinstance(described, AdminError) else await _offsets(admin, group)
    target = reset_target(values, group)
    partitions = (
        [*target]
        if isinstance(target, dict)
        else sorted(committed)
        if "all-topics" in values
        else await chosen_partitions(admin, values, group)
    )
    targets: dict[TopicPartition, int] = {}
    for partition, planned in (await plan_offsets(admin, committed, partitions, target)).items() if partitions else ():
        if isinstance(planned, AdminError):
            raise planned
        targets[partition] = planned.after
    if "execute" in values and targets:
        (await admin.alter_share_group_offsets(group, targets)).raise_first()
    if not targets:
        run.print()
        return
    rows = [(group, *partition, offset) for partition, offset in targets.items()]
    print_new_offsets(run, rows, (15, 15, 10), fixed=False, one_group=True)


async def _delete_offsets(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    topics = [*dict.fromkeys(values.all("topic"))]
    statuses: dict[str, str]
    try:
        outcomes = await admin.delete_share_group_offsets(values.get("group") or "", topics)
    except AdminError as error:
        run.print(f"\nError: {error.text}")
        statuses = dict.fromkeys(topics, f"Error: {error.text}")
    else:
        statuses = {
            topic: "Successful" if error is None else f"Error: {error.text}" for topic, error in outcomes.items()
        }
    run.print()
    run.print_rows([("TOPIC", "STATUS"), *sorted(statuses.items())], (15,))


ACTIONS = {"describe": _describe, "delete": _delete, "reset-offsets": _reset, "delete-offsets": _delete_offsets}

share_groups = Script(
    "kafka-share-groups",
    ("org.apache.kafka.tools.consumer.group.ShareGroupCommand",),
    (
        *common_options("share"),
        ScriptOption("topic", "The topic whose offsets are deleted or reset, as TOPIC or TOPIC:0,1.", "topic"),
        ScriptOption("all-topics", "With --reset-offsets, consider all topics of the group."),
    ),
    run,
    FAILURE,
    banner="This tool helps to list, describe, delete and manage the offsets of share groups.",
)
