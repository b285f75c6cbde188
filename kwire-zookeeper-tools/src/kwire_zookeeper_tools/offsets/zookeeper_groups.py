"""Consumer groups of Kafka 0.8 to 0.10 that store their offsets in ZooKeeper, below `/consumers`.

They have nothing to do with the groups of the brokers, even if the names are equal. Output equals the output of the
ConsumerGroupCommand of Kafka 0.10.2 with `--zookeeper`, or, with `old`, the output of Kafka 0.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.operations.declaration import ToolFailed
from kwire_cluster.zookeeper.errors import NoNode
from kwire_cluster.zookeeper.topics import TopicRegistration
from kwire_zookeeper_tools.offsets.consumer_offsets import ROOT, child_names, log_ends, owners_of, stored_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import TopicPartition as Partition
    from kwire_cluster.zookeeper import Store
    from kwire_zookeeper_tools.tool_run import ToolRun

__all__ = ["delete_groups", "describe_groups", "list_groups"]

FORMAT = "{:<30} {:<10} {:<15} {:<15} {:<10} {:<50}"
OLD_TITLES = ("GROUP", "TOPIC", "PARTITION", "CURRENT OFFSET", "LOG END OFFSET", "LAG", "OWNER")
TITLES = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID")


async def list_groups(run: ToolRun) -> list[str]:
    """Return the groups in alphabetical order."""
    return await child_names(await run.zookeeper(), ROOT)


async def describe_groups(run: ToolRun, groups: Sequence[str], *, old: bool = False) -> None:
    """Print the offsets, lags, and owners of groups.

    Raises:
        ToolFailed: a group does not exist.
    """
    store = await run.zookeeper()
    existing = await list_groups(run)
    for group in groups:
        if group not in existing and not old:
            raise ToolFailed(f"the consumer group '{group}' does not exist")
        await _describe(run, store, group, old=old)


async def _describe(run: ToolRun, store: Store, group: str, *, old: bool) -> None:
    offsets = {
        (stored_offset.topic, stored_offset.partition): stored_offset.offset
        for stored_offset in await stored_offsets(store, [group])
    }
    partitions = await _partitions(store, group, [topic for topic, _ in offsets])
    owners = await owners_of(store, group, partitions)
    ends = await log_ends(await run.admin(), partitions)
    if old:
        _print_old(run, group, partitions, offsets, ends, owners)
        return
    idle = set(await child_names(store, f"{ROOT}/{group}/ids"))
    rows: list[tuple[str, int | str, str, str, str, str]] = []
    for partition, owner in zip(partitions, owners, strict=True):
        offset, end = offsets.get(partition), ends.get(partition)
        # The owner is a thread of the consumer: `<consumer>-<number of the thread>`.
        consumer = "-" if owner is None else owner.rpartition("-")[0]
        idle.discard(consumer)
        if offset is None:
            run.print(
                f"Error: Could not fetch offset from zookeeper for group '{group}' partition "
                f"'[{partition.topic},{partition.partition}]' due to missing offset data in zookeeper."
            )
        lag = None if offset is None or end is None else end - offset
        rows.append((partition.topic, partition.partition, _text(offset), _text(end), _text(lag), consumer))
    rows += [("-", "-", "-", "-", "-", consumer) for consumer in sorted(idle)]
    run.print()
    for row in (TITLES, *rows):
        run.print(FORMAT.format(*row))


def _print_old(
    run: ToolRun,
    group: str,
    partitions: Sequence[Partition],
    offsets: Mapping[tuple[str, int], int],
    ends: Mapping[Partition, int],
    owners: Sequence[str | None],
) -> None:
    if not partitions:
        run.print("No topic available for consumer group provided")
    run.print(", ".join(OLD_TITLES))
    for partition, owner in zip(partitions, owners, strict=True):
        offset, end = offsets.get(partition), ends.get(partition)
        numbers = ["unknown" if number is None else str(number) for number in (offset, end)]
        lag = "unknown" if offset is None or end is None else str(end - offset)
        run.print(", ".join([group, partition.topic, str(partition.partition), *numbers, lag, owner or "none"]))


async def _partitions(store: Store, group: str, topics: Sequence[str]) -> list[Partition]:
    """Return all partitions of the topics that the group has offsets for, or has consumed."""
    from kwire.client.admin import TopicPartition

    partitions: list[Partition] = []
    for topic in sorted({*topics, *await child_names(store, f"{ROOT}/{group}/owners")}):
        path = TopicRegistration.path(topic)
        try:
            assignment = TopicRegistration.decode((await store.get(path)).data, path)
        except NoNode:
            continue  # the topic was deleted
        partitions += [TopicPartition(topic, index) for index in sorted(assignment.partitions)]
    return partitions


def _text(number: int | None) -> str:
    return "-" if number is None else str(number)


async def delete_groups(run: ToolRun, groups: Sequence[str], topics: Sequence[str], *, old: bool = False) -> None:
    """Delete the znodes of groups without consumers, or those of topics.

    Args:
        groups: the groups; without any, all groups that have no consumers.
        topics: the topics with the offsets to delete; without any, everything of the groups. Kafka 0.10.2 deletes the
            whole group if the topic is the only one with owners, which loses offsets of other topics. They stay here.
        old: True for the lines of Kafka 0.9.

    Raises:
        ToolFailed: a group was not deleted.
    """
    store = await run.zookeeper()
    failed = 0
    existing = await list_groups(run)
    for group in groups or existing:
        quote, error = ("", "") if old else ("'", "Error: ")
        named = f"group {quote}{group}{quote}"
        what = [f"{named} topic {quote}{topic}{quote}" for topic in topics] or [named]
        problem = ""
        if group not in existing:
            problem = "group does not exist"
        elif await child_names(store, f"{ROOT}/{group}/ids"):
            problem = "its consumers are still active"
        # Groups that were not named are skipped in silence, as Kafka 0.10.2 does.
        if problem and groups:
            failed += len(what)
            for deleted in what:
                run.print(f"{error}Delete for {deleted} failed because {problem}.")
        elif not problem:
            await _delete(store, group, topics)
            if groups:
                everything = "" if topics else "all "
                for deleted in what:
                    run.print(f"Deleted {everything}consumer group information for {deleted} in zookeeper.")
    if not groups:
        for topic in topics:
            run.print(
                f"Deleted consumer group information for all inactive consumer groups for topic '{topic}' in zookeeper."
            )
    if failed:
        raise ToolFailed(f"{failed} of {len(groups) * max(len(topics), 1)} were not deleted")


async def _delete(store: Store, group: str, topics: Sequence[str]) -> None:
    """Delete a group, or what it has of topics, and then the group if nothing of any topic is left."""
    root = f"{ROOT}/{group}"
    kinds = ("offsets", "owners")
    for kind in kinds if topics else ():
        for topic in topics:
            await _delete_tree(store, f"{root}/{kind}/{topic}")
    left = [await child_names(store, f"{root}/{kind}") for kind in kinds]
    if not topics or not any(left):
        await _delete_tree(store, root)


async def _delete_tree(store: Store, path: str) -> None:
    for name in await child_names(store, path):
        await _delete_tree(store, f"{path}/{name}")
    try:
        await store.delete(path)
    except NoNode:
        return
