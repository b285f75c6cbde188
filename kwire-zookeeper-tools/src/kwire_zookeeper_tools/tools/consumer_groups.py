"""The tool `consumer-groups`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminClient, AdminError, GroupDescription
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option
from kwire_zookeeper_tools.offsets.zookeeper_groups import delete_groups, describe_groups, list_groups
from kwire_zookeeper_tools.tool_run import ToolRun

Rows = list[tuple[object, ...]]
OFFSETS = (
    "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID",
)  # fmt: skip


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    dangers={"delete": Danger.DESTROYS},
    without_effect=("--timeout MS",),
    replaces=("kafka.admin.ConsumerGroupCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
    examples=(
        "--list",
        "--describe --group app",
        "--delete --group app",
        "--zookeeper localhost:2181 --delete --group app",
    ),
)
async def consumer_groups(
    run: ToolRun,
    list_: Annotated[bool, Option("List the ids of groups.")] = False,
    describe: Annotated[bool, Option("Print offsets and lag.")] = False,
    delete: Annotated[bool, Option("Delete groups without members.")] = False,
    group: Annotated[list[str], Option("The groups.", "GROUP")] = [],
    all_groups: Annotated[bool, Option("All groups.")] = False,
    members: Annotated[bool, Option("Describe members instead of offsets.")] = False,
    state: Annotated[bool, Option("Describe or list states instead of offsets.")] = False,
    topic: Annotated[
        list[str], Option("With --zookeeper and --delete, only what groups have of these topics.", "TOPIC")
    ] = [],
) -> None:
    """List, describe, and delete consumer groups, with the columns of Kafka's ConsumerGroupCommand.

    With --zookeeper, they are the groups that Kafka 0.8 to 0.10 stored in ZooKeeper, and never those of the brokers.
    """
    if list_ + describe + delete != 1:
        raise InvalidArgument("give exactly one of --list, --describe, --delete")
    if run.names_zookeeper:
        if run.names_brokers or members or state or all_groups:
            raise InvalidArgument(
                "--zookeeper means groups in ZooKeeper: it has no --bootstrap-server, --command-config, --all-groups, "
                "--members, or --state"
            )
        await _in_zookeeper(run, delete=delete, describe=describe, groups=group, topics=topic)
        return
    if topic:
        raise InvalidArgument("--topic needs --zookeeper and --delete")
    admin = await run.admin()
    listed = sorted(await admin.list_groups()) if list_ or all_groups else []
    if list_:
        for listing in listed:
            run.print(f"{listing.group_id}\t{listing.state or '-'}" if state else listing.group_id)
        return
    groups = [listing.group_id for listing in listed] if all_groups else group
    if not groups:
        raise InvalidArgument("give --group or --all-groups")
    if delete:
        await _delete(run, admin, groups)
    elif members or state:
        await _describe_members(run, admin, groups, states=state)
    else:
        await _describe_offsets(run, admin, groups)


async def _in_zookeeper(run: ToolRun, *, delete: bool, describe: bool, groups: list[str], topics: list[str]) -> None:
    if topics and not delete:
        raise InvalidArgument("--topic needs --delete")
    if (describe and not groups) or (delete and not groups and not topics):
        raise InvalidArgument('Missing required argument "[group]"')
    if delete:
        await delete_groups(run, groups, topics)
    elif describe:
        await describe_groups(run, groups)
    else:
        for group in await list_groups(run):
            run.print(group)


async def _delete(run: ToolRun, admin: AdminClient, groups: list[str]) -> None:
    outcomes = await admin.delete_groups(groups)
    for name, error in outcomes.items():
        run.print(f"{name}: {'deleted' if error is None else error.text}")
    if outcomes.errors:
        raise ToolFailed(f"{len(outcomes.errors)} of {len(outcomes)} groups were not deleted")


async def _descriptions(admin: AdminClient, groups: list[str]) -> dict[str, GroupDescription]:
    described = {}
    for name, group in (await admin.describe_groups(groups)).items():
        if isinstance(group, AdminError):
            raise group
        described[name] = group
    return described


async def _describe_members(run: ToolRun, admin: AdminClient, groups: list[str], *, states: bool) -> None:
    rows: Rows = [
        ("GROUP", "COORDINATOR", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
        if states
        else ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
    ]
    for name, group in (await _descriptions(admin, groups)).items():
        if states:
            rows.append((name, group.coordinator, group.assignor or "-", group.state, len(group.members)))
            continue
        for member in group.members:
            count = sum(map(len, (member.assignment or {}).values()))
            rows.append((name, member.member_id, member.host, member.client_id, count))
    _print_columns(run, rows)


async def _describe_offsets(run: ToolRun, admin: AdminClient, groups: list[str]) -> None:
    rows: Rows = [OFFSETS]
    for name, lag in (await admin.group_lags(groups)).items():
        if isinstance(lag, AdminError):
            raise lag
        for partition in lag.partitions:
            owner = partition.member
            rows.append(
                (
                    name,
                    partition.topic,
                    partition.partition,
                    "-" if partition.committed is None else partition.committed,
                    "-" if partition.end is None else partition.end,
                    "-" if partition.lag is None else partition.lag,
                    "-" if owner is None else owner.member_id,
                    "-" if owner is None else owner.host,
                    "-" if owner is None else owner.client_id,
                )
            )
    _print_columns(run, rows)


def _print_columns(run: ToolRun, rows: Rows) -> None:
    """Print rows with columns of equal width."""
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        run.print(" ".join(f"{cell!s:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
