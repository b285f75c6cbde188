"""`kafka-streams-groups` (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin import EARLIEST, LATEST, AdminError, GroupType, TopicPartition
from kwire_admin.compat.group_options import (
    EXECUTION,
    SHIFTS,
    check_action,
    check_execution,
    check_scenario,
    chosen_groups,
    common_options,
    coordinator_text,
    delete_groups,
    listed,
    need_one_of,
    print_groups,
    print_new_offsets,
    warn_of_unknown_ends,
)
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import Script, ScriptFailed, ScriptRefused, accepted, java_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin import AdminClient
    from kwire_admin.compat.options import OptionValues
    from kwire_admin.compat.script import ScriptRun

STATES = ("Reconciling", "Empty", "NotReady", "Dead", "Stable", "Assigning")
SCENARIOS = (
    *("shift-by", "from-file", "to-datetime", "by-duration", "to-latest", "to-current", "to-earliest", "to-offset"),
)
TASKS = (("ACTIVE", "active_tasks"), ("STANDBY", "standby_tasks"), ("WARMUP", "warmup_tasks"))


async def run(run: ScriptRun) -> None:
    """List, describe, or delete streams groups, or change the offsets of their input topics.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a group does not exist.
    """
    values = run.values
    values.forbid("list", "group")
    action = check_action(values, before_last="or ", views=("members", "offsets", "state", "topology"))
    _check(values, action)
    admin = await run.admin(values.number("timeout"))
    if action == "list":
        await print_groups(run, admin, GroupType.STREAMS, STATES)
    else:
        await ACTIONS[action](run, admin, values)


def _check(values: OptionValues, action: str) -> None:
    values.forbid("all-groups", "group")
    if action != "reset-offsets" and any(option in values for option in EXECUTION):
        raise ScriptUsageError("Only Option [reset-offsets] accepts [execute] or [dry-run]")
    if action == "delete":
        need_one_of(values, action, "all-groups", "group")
    if action == "delete-offsets" and not (
        "group" in values and ("input-topic" in values or "all-input-topics" in values)
    ):
        raise ScriptUsageError(
            "Option [delete-offsets] takes the [group] and one of these options: [all-input-topics], [input-topic]"
        )
    if action == "reset-offsets":
        check_execution(values)
        need_one_of(values, action, "all-groups", "group")
        if not any(scope in values for scope in ("all-input-topics", "input-topic", "from-file")):
            raise ScriptUsageError("One of the reset scopes should be defined: --all-input-topics, --input-topic.")
        check_scenario(values, SCENARIOS)
        if not any(scenario in values for scenario in SCENARIOS):
            raise ScriptUsageError(
                f"Option '[reset-offsets]' requires one of the following scenarios: [{listed(SCENARIOS)}]"
            )


async def _found(admin: AdminClient, names: Sequence[str]) -> list[tuple[Any, int]]:
    """Return groups with the ids of their coordinators, or raise ScriptRefused."""
    groups: list[tuple[Any, int]] = []
    for described in (await admin.describe_groups_of_type(names, GroupType.STREAMS)).values():
        if isinstance(described, AdminError):
            raise ScriptRefused(java_error(described))
        groups.append(described)
    return groups


async def _describe(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    names = sorted(await chosen_groups(run, admin, GroupType.STREAMS))
    for group, coordinator in await _found(admin, names):
        if "topology" in values:
            # Brokers keep descriptions only with a plugin that Kafka does not include.
            raise ScriptFailed(
                f"\nError: No topology description is stored for streams group '{group.group_id}'.", on_stdout=True
            )
        if "members" in values:
            _print_members(run, group)
        elif "state" in values:
            await _print_state(run, admin, group, coordinator)
        else:
            await _print_offsets(run, admin, group)


async def _print_state(run: ScriptRun, admin: AdminClient, group: Any, coordinator: int) -> None:
    if group.group_state == "Empty":
        run.print(f"\nError: Streams group '{group.group_id}' has no active members.")
    address = await coordinator_text(admin, coordinator, gap=" ")
    epochs = {"GROUP-EPOCH": group.group_epoch, "TARGET-ASSIGNMENT-EPOCH": group.assignment_epoch}
    if "verbose" not in run.values:
        epochs.clear()
    titles = ("GROUP", "COORDINATOR (ID)", "ASSIGNOR", "STATE", *epochs, "#MEMBERS")
    assignor = group.assignor_name or ""
    row = (group.group_id, address, assignor, group.group_state, *epochs.values(), len(group.members))
    run.print_rows([titles, row], (15, 25, 15, 25, 15, 25)[: len(titles) - 1])


def _print_members(run: ScriptRun, group: Any) -> None:
    members = sorted(group.members, key=lambda member: member.member_id)
    if not members:
        return
    if "verbose" not in run.values:
        rows: list[tuple[object, ...]] = [("GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS")]
        rows += [
            (group.group_id, member.member_id, member.process_id, member.client_id, _tasks(member.assignment))
            for member in members
        ]
        run.print_rows(rows, (15, 15, 15, 15))
        return
    titles = ("GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", "MEMBER-PROTOCOL", "MEMBER-EPOCH")
    rows = [(*titles, "PROCESS", "CLIENT-ID", "ASSIGNMENTS")]
    rows += [
        (
            group.group_id,
            group.assignment_epoch,
            member.topology_epoch,
            member.member_id,
            "classic" if member.is_classic else "streams",
            member.member_epoch,
            member.process_id,
            member.client_id,
            _tasks(member.assignment) + _tasks(member.target_assignment, "TARGET-"),
        )
        for member in members
    ]
    run.print_rows(rows, (15, 25, 14, 15, 15, 15, 15, 15))


def _tasks(assignment: Any, prefix: str = "") -> str:
    text = ""
    for title, name in TASKS:
        tasks = getattr(assignment, name)
        if tasks:
            parts = (f"{task.subtopology_id}:[{','.join(map(str, sorted(task.partitions)))}]" for task in tasks)
            text += f"{prefix}{title}: {','.join(parts)}; "
    return text


async def _print_offsets(run: ScriptRun, admin: AdminClient, group: Any) -> None:
    partitions = sorted({partition for member in group.members for partition in _inputs(group, member)})
    if not partitions:
        return
    committed = accepted((await admin.list_group_offsets([group.group_id]))[group.group_id])
    starts = await admin.list_offsets(dict.fromkeys(partitions, EARLIEST))
    ends = await admin.list_offsets(dict.fromkeys(partitions, LATEST))
    warn_of_unknown_ends(run, {of: at for of, at in (starts | ends).items() if isinstance(at, AdminError)})
    verbose = "verbose" in run.values
    rows: list[tuple[object, ...]] = []
    for partition in partitions:
        start, end, offset = starts[partition], ends[partition], committed.get(partition)
        current = "-" if offset is None else offset.offset
        log_end: int | str = "-"
        lag: int | str = "-"
        if not isinstance(start, AdminError) and not isinstance(end, AdminError):
            log_end = end.offset or 0
            # Without a committed offset, the whole log is the lag.
            lag = log_end - ((start.offset or 0) if offset is None else offset.offset)
        epoch = "-" if offset is None or offset.leader_epoch is None else offset.leader_epoch
        rows.append((group.group_id, *partition, *([current, epoch, log_end] if verbose else []), lag))
    titles = ("CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET") if verbose else ()
    rows.insert(0, ("GROUP", "TOPIC", "PARTITION", *titles, "OFFSET-LAG"))
    run.print_rows(rows, (15, 15, 10, *([15] * 3 * verbose)))


def _inputs(group: Any, member: Any) -> Iterable[TopicPartition]:
    """Return the partitions of topics that the active tasks of a member read."""
    topics = {subtopology.subtopology_id: _topics(subtopology) for subtopology in _subtopologies(group)}
    for task in member.assignment.active_tasks:
        for topic in topics.get(task.subtopology_id, ()):
            for partition in task.partitions:
                yield TopicPartition(topic, partition)


def _subtopologies(group: Any) -> Sequence[Any]:
    return () if group.topology is None else group.topology.subtopologies or ()


def _topics(subtopology: Any) -> list[str]:
    return [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)]


def _internal_topics(group: Any) -> list[str]:
    """Return the repartition and changelog topics of a group."""
    committed = {
        topic.name
        for subtopology in _subtopologies(group)
        for topic in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics)
    }
    return sorted(committed)


async def _delete(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    internal: list[str] = []
    if "delete-all-internal-topics" in values:
        names = await chosen_groups(run, admin, GroupType.STREAMS)
        for group in (await admin.describe_groups_of_type(names, GroupType.STREAMS)).values():
            if not isinstance(group, AdminError) and group[0].group_state == "Empty":
                internal += _internal_topics(group[0])
    await delete_groups(run, admin, GroupType.STREAMS, _unknown, "''")
    await _delete_topics(run, admin, internal)


def _unknown(group: str) -> str:
    return f"java.lang.IllegalArgumentException: Group '{group}' does not exist or is not a streams group."


async def _delete_topics(run: ScriptRun, admin: AdminClient, topics: Sequence[str]) -> None:
    if not topics:
        return
    outcomes = await admin.delete_topics(topics)
    for topic, error in outcomes.items():
        if error is not None:
            run.print(f"\nError: Deletion of internal topic '{topic}' failed: {error.text}")
    done = [topic for topic, error in outcomes.items() if error is None]
    if done:
        run.print(f"Deletion of associated internal topics of the streams groups ({', '.join(done)}) was successful.")


async def _reset(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    rows: list[tuple[str, str, int, int]] = []
    groups = await chosen_groups(run, admin, GroupType.STREAMS)
    for group in groups:
        targets = await _reset_group(run, admin, values, group)
        rows += [(group, *partition, offset) for partition, offset in targets.items()]
    print_new_offsets(run, rows, (30, 30, 10, 15), fixed=True, one_group=len(groups) == 1)


async def _reset_group(
    run: ScriptRun, admin: AdminClient, values: OptionValues, name: str
) -> dict[TopicPartition, int]:
    """Return the new offsets of a group, which are committed unless it is a dry run; none if the group is active."""
    from kwire_admin.compat.scripts.consumer_groups import plan_targets

    described = (await admin.describe_groups_of_type([name], GroupType.STREAMS))[name]
    if isinstance(described, AdminError):
        if "input-topic" in values:
            run.print(f"\nError: One or more topics are not part of the group '{name}'.")
            return {}
        raise ScriptRefused(f"java.util.concurrent.ExecutionException: {java_error(described)}")
    group, _ = described
    if group.group_state not in ("Empty", "Dead"):
        run.print(
            f"\nError: Assignments can only be reset if the group '{name}' is inactive, but the current state is "
            f"{group.group_state}."
        )
        return {}
    partitions = await _chosen_partitions(admin, values, group)
    inputs = {topic for subtopology in _subtopologies(group) for topic in _topics(subtopology)}
    if any(partition.topic not in inputs for partition in partitions):
        run.print(f"\nError: One or more topics are not part of the group '{name}'.")
        return {}
    targets = await plan_targets(run, admin, name, partitions)
    if "execute" in values and targets:
        (await admin.alter_group_offsets(name, targets)).raise_first()
        internal = _internal_topics(group)
        if "delete-all-internal-topics" not in values:
            named = {text.strip() for option in values.all("delete-internal-topic") for text in option.split(",")}
            internal = [topic for topic in internal if topic in named]
        await _delete_topics(run, admin, internal)
    return targets


async def _chosen_partitions(admin: AdminClient, values: OptionValues, group: Any) -> list[TopicPartition]:
    from kwire_admin.compat.offset_deletions import partitions_of_topics

    if "all-input-topics" in values:
        topics = sorted({topic for subtopology in _subtopologies(group) for topic in subtopology.source_topics})
        return await partitions_of_topics(admin, topics)
    return await partitions_of_topics(admin, values.all("input-topic"))


async def _delete_offsets(run: ScriptRun, admin: AdminClient, values: OptionValues) -> None:
    from kwire_admin.compat.offset_deletions import delete_offsets

    name = values.get("group") or ""
    partitions: list[TopicPartition] = []
    if "all-input-topics" in values:
        committed = (await admin.list_group_offsets([name]))[name]
        partitions = [] if isinstance(committed, AdminError) else sorted(committed)
    await delete_offsets(run, admin, values.all("input-topic"), partitions, is_old=False)


ACTIONS = {"describe": _describe, "delete": _delete, "reset-offsets": _reset, "delete-offsets": _delete_offsets}

streams_groups = Script(
    "kafka-streams-groups",
    ("org.apache.kafka.tools.streams.StreamsGroupCommand",),
    (
        *common_options("streams"),
        ScriptOption("topology", "With --describe, the topology of the group if a plugin of the brokers keeps it."),
        ScriptOption("input-topic", "An input topic, as TOPIC or TOPIC:0,1, to delete or reset its offsets.", "topic"),
        ScriptOption("all-input-topics", "All input topics of the topology of the group."),
        *SHIFTS,
        ScriptOption("delete-internal-topic", "With --reset-offsets --execute, delete this internal topic.", "topic"),
        ScriptOption("delete-all-internal-topics", "With --reset-offsets or --delete, delete all internal topics."),
    ),
    run,
    "\nError: Executing streams group command failed due to ",
    banner="This tool helps to list, describe, delete and manage the offsets of streams groups.",
)
