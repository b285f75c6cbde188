"""The lines of `kafka-consumer-groups --describe`, as Kafka 3.9.1 and Kafka 4.4.0 print them.

The releases differ in more than columns. 3.9.1 describes the groups that it finds; 4.4.0 ends at the first group that
does not exist. 3.9.1 begins each line of offsets with the end of the line before, so only the first group of several is
preceded by an empty line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, GroupType, TopicPartition
from kwire_admin.compat.group_options import coordinator_text, warn_of_unknown_ends
from kwire_admin.compat.script import accepted, java_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin import AdminClient, GroupDescription
    from kwire.messages.kafka.consumer_group_describe import DescribedGroup
    from kwire_admin.compat.script import ScriptRun

__all__ = ["CONSUMER_TYPES", "describe_groups", "epoch_columns"]

CONSUMER_TYPES = ("classic", "consumer", "unknown")
"""The types of groups that the script knows; a broker before Kafka 3.7 does not report a type."""
REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
"""States of groups whose partitions move."""
FIRST_WITH_EPOCHS = "4.0.0"
"""The first release that prints epochs and targets with `--verbose` (KIP-1099)."""

MEMBER_TITLES = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
INSTANCE = MEMBER_TITLES.index("GROUP-INSTANCE-ID")
OFFSET_TITLES = (
    *("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"),
    *("CONSUMER-ID", "HOST", "CLIENT-ID"),
)
LEADER_EPOCH = OFFSET_TITLES.index("LEADER-EPOCH")
OFFSET_WIDTHS = (15, 15, 10, 15, 15, 15, 15, 15, 15)
EPOCH_WIDTHS = (15, 20, 15, 20)


async def describe_groups(run: ScriptRun, admin: AdminClient, names: Iterable[str], failure: str) -> None:
    """Describe groups in the order of their names.

    Args:
        failure: the text before an error that ends the script.
    """
    names = sorted({*names})
    described = await admin.describe_groups(names)
    committed = await admin.list_group_offsets(names)
    has_epochs = not run.is_before(FIRST_WITH_EPOCHS)
    groups: dict[str, GroupDescription | None] = {}
    for name in names:
        group, offsets = described[name], committed[name]
        if isinstance(group, AdminError) and (has_epochs or group.name != "GROUP_ID_NOT_FOUND"):
            run.has_failures = True
            run.print(f"\n{failure}{_missing(name) if group.name == 'GROUP_ID_NOT_FOUND' else java_error(group)}")
            return
        if isinstance(group, AdminError) or (
            group.state == "Dead" and (isinstance(offsets, AdminError) or not offsets)
        ):
            groups[name] = None
        elif group.type.value in CONSUMER_TYPES:
            groups[name] = group
        elif has_epochs:
            run.has_failures = True
            run.print(f"\n{failure}{_missing(name, 'is not a consumer group')}")
            return
        else:
            groups[name] = None
    printed = False
    for name, group_or_none in groups.items():
        printed = await _describe_group(run, admin, name, group_or_none, printed)


def _missing(group: str, reason: str = "not found") -> str:
    return f"org.apache.kafka.common.errors.GroupIdNotFoundException: Group {group} {reason}."


async def _describe_group(
    run: ScriptRun, admin: AdminClient, name: str, group: GroupDescription | None, has_printed: bool
) -> bool:
    """Print one group; None is one that does not exist. Returns whether the last line belongs to a table of offsets.

    Args:
        has_printed: True if the last line belongs to a table of offsets.
    """
    values = run.values
    if group is None:
        start = "" if has_printed and run.is_before(FIRST_WITH_EPOCHS) else "\n"
        run.has_failures = True
        run.print(f"{start}Error: Consumer group '{name}' does not exist.")
        if "members" in values:  # Kafka 3.9.1 prints the titles nevertheless
            _print_members(run, name, None, None)
        return False
    if not group.members:
        run.warn(f"\nConsumer group '{name}' has no active members.")
    elif group.state in REBALANCING:
        run.warn(f"\nWarning: Consumer group '{name}' is rebalancing.")
    if "state" in values:
        await _print_state(run, admin, group)
    elif "members" in values:
        _print_members(run, name, group, await _with_epochs(run, admin, group))
    else:
        return await _print_offsets(run, admin, group, has_printed) or has_printed
    return False


async def _with_epochs(run: ScriptRun, admin: AdminClient, group: GroupDescription) -> DescribedGroup | None:
    """Return a group with its epochs; None for a classic group, and where they are not printed."""
    if run.is_before(FIRST_WITH_EPOCHS) or "verbose" not in run.values or group.type is not GroupType.CONSUMER:
        return None
    described = accepted((await admin.describe_groups_of_type([group.group_id], GroupType.CONSUMER))[group.group_id])
    with_epochs: DescribedGroup = described[0]
    return with_epochs


async def _print_state(run: ScriptRun, admin: AdminClient, group: GroupDescription) -> None:
    address = await coordinator_text(admin, group.coordinator, gap="  ")
    epochs: dict[str, str] = {}
    # 3.9.1 applies the width of the coordinator to the first column, and lets no other one grow.
    is_old = run.is_before(FIRST_WITH_EPOCHS)
    widths = (max(25, len(address)), 25, 20, 15) if is_old else (15, 25, 20, 20, 15, 25)
    if not is_old and "verbose" in run.values:
        described = await _with_epochs(run, admin, group)
        epochs["GROUP-EPOCH"] = _text(None if described is None else described.group_epoch)
        epochs["TARGET-ASSIGNMENT-EPOCH"] = _text(None if described is None else described.assignment_epoch)
    titles = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", *epochs, "#MEMBERS")
    assignor = group.assignor if is_old else group.assignor or "-"
    row = (group.group_id, address, assignor, group.state, *epochs.values(), str(len(group.members)))
    run.print()
    run.print_rows([titles, row], widths[: len(titles) - 1], fixed=is_old)


def _print_members(run: ScriptRun, name: str, group: GroupDescription | None, epochs: DescribedGroup | None) -> None:
    """Print a line for each member, also for a member without partitions; the ids of static members if there are."""
    members = () if group is None else group.members
    rows = [
        (
            name,
            member.member_id,
            member.instance_id or "",
            member.host,
            member.client_id,
            str(sum(map(len, (member.assignment or {}).values()))),
        )
        for member in members
    ]
    widths = [17 if at == INSTANCE else 15 for at in range(6)]
    shown = [at for at in range(6) if at != INSTANCE or any(row[at] for row in rows)]
    assignments = [member.assignment or {} for member in members]
    endings: list[tuple[str, ...]]
    if "verbose" not in run.values:
        endings = [("",)] * (len(rows) + 1)
    elif run.is_before(FIRST_WITH_EPOCHS):
        endings = [("ASSIGNMENT",), *((_partitions_text(assignment),) for assignment in assignments)]
    else:
        endings = epoch_columns([row[1] for row in rows], assignments, epochs)
    table = [(*(row[at] for at in shown), *ending) for row, ending in zip((MEMBER_TITLES, *rows), endings, strict=True)]
    run.print()
    run.print_rows(table, [*(widths[at] for at in shown), *(EPOCH_WIDTHS if len(endings[0]) > 1 else ())])


def _partitions_text(assignment: Mapping[str, Sequence[int]]) -> str:
    """Return the partitions of each topic, as Kafka 3.9.1 prints them: without the topics."""
    texts = (f"({','.join(sorted(map(str, partitions)))})" for partitions in assignment.values() if partitions)
    return ", ".join(sorted(texts)) or "-"


def epoch_columns(
    ids: Sequence[str], assignments: Sequence[Mapping[str, Sequence[int]]], group: DescribedGroup | None
) -> list[tuple[str, ...]]:
    """Return the cells that `--verbose` adds since 4.0.0 (KIP-1099), the titles first."""
    members = {} if group is None else {member.member_id: member for member in group.members}
    classic = {id for id in ids if id in members and members[id].member_type == 0}
    titles = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
    rows: list[tuple[str, ...]] = [(*titles, "UPGRADED") if classic else titles]
    for id, assignment in zip(ids, assignments, strict=True):
        member = members.get(id)
        target = () if member is None else member.target_assignment.topic_partitions
        cells = (
            _text(None if member is None else member.member_epoch),
            _topics_text(assignment),
            _text(None if group is None else group.assignment_epoch),
            _topics_text({topic.topic_name: topic.partitions for topic in target}),
        )
        rows.append((*cells, "false" if id in classic else "true") if classic else cells)
    return rows


def _topics_text(assignment: Mapping[str, Sequence[int]]) -> str:
    """Return topics with their partitions, as Kafka 4.4.0 prints them."""
    texts = (
        f"{topic}:{','.join(map(str, sorted(partitions)))}" for topic, partitions in assignment.items() if partitions
    )
    return ";".join(sorted(texts)) or "-"


async def _print_offsets(run: ScriptRun, admin: AdminClient, group: GroupDescription, follows_table: bool) -> bool:
    """Print the offsets of a group, and return whether there are any."""
    lag = accepted((await admin.group_lags([group.group_id]))[group.group_id])
    has_epochs = "verbose" in run.values and not run.is_before(FIRST_WITH_EPOCHS)
    committed = accepted((await admin.list_group_offsets([group.group_id]))[group.group_id] if has_epochs else {})
    errors = {TopicPartition(*p[:2]): p.error for p in lag.partitions if p.error is not None}
    warn_of_unknown_ends(run, errors)
    rows = []
    for partition in lag.partitions:
        owner = partition.member
        consumer = ("-", "-", "-") if owner is None else (owner.member_id, owner.host, owner.client_id)
        offset = committed.get(TopicPartition(partition.topic, partition.partition))
        epoch = _text(None if offset is None else offset.leader_epoch)
        numbers = map(_text, (partition.committed, partition.end, partition.lag))
        rows.append((group.group_id, partition.topic, str(partition.partition), epoch, *numbers, *consumer))
    if not rows:  # as Kafka's script, which prints no titles then
        return False
    shown = [at for at in range(len(OFFSET_TITLES)) if at != LEADER_EPOCH or has_epochs]
    if not (follows_table and run.is_before(FIRST_WITH_EPOCHS)):
        run.print()
    table = [[row[at] for at in shown] for row in (OFFSET_TITLES, *rows)]
    run.print_rows(table, [OFFSET_WIDTHS[at] for at in shown[:-1]])
    return True


def _text(number: int | None) -> str:
    return "-" if number is None else str(number)
