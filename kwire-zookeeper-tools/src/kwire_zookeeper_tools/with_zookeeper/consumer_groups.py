"""`kafka-consumer-groups --zookeeper`: groups of Kafka 0.8 to 0.10 that store their offsets below `/consumers`.

They have nothing to do with the groups of the brokers, even if the names are equal. Output equals the output of the
ConsumerGroupCommand of Kafka 0.10.2, or, with `old`, the output of Kafka 0.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import TopicPartition
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed
from kwire_admin.compat.scripts.consumer_groups import consumer_groups
from kwire_cluster.zookeeper.errors import NoNode
from kwire_cluster.zookeeper.topics import TopicRegistration
from kwire_zookeeper_tools.offsets.consumer_offsets import ROOT, child_names, log_ends, owners_of, stored_offsets
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_admin.compat.script import ScriptRun
    from kwire_cluster.zookeeper import Store

NOTE = (
    "Note: This will only show information about consumers that use ZooKeeper (not those using the Java consumer API)."
)
FORMAT = "{:<30} {:<10} {:<15} {:<15} {:<10} {:<50}"
OLD_TITLES = ("GROUP", "TOPIC", "PARTITION", "CURRENT OFFSET", "LOG END OFFSET", "LAG", "OWNER")
TITLES = ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID")


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a group does not exist, or has consumers.
    """
    values = run.values
    action = values.one_action("--list, --describe, --delete")
    values.need("zookeeper")
    groups, topics = values.all("group"), values.all("topic")
    if action == "describe" or (action == "delete" and not topics):
        values.need("group")
    if topics and action != "delete":
        raise ScriptUsageError(f"Option [topic] cannot be used with option [{action}]")
    old = run.is_before("0.10.0.0")
    if not old:
        run.warn(NOTE)
    store = await tool_run(run).zookeeper()
    if action == "delete":
        await _delete_groups(run, store, old=old)
        return
    existing = await child_names(store, ROOT)
    if action == "list":
        for name in existing:
            run.print(name)
        return
    missing = next((group for group in groups if group not in existing), None)
    if missing is not None and not old:
        raise ScriptFailed(f"Error: The consumer group '{missing}' does not exist.", on_stdout=True)
    for group in groups:
        await _describe(run, store, group, old=old)


async def _describe(run: ScriptRun, store: Store, group: str, *, old: bool) -> None:
    offsets = {
        (stored_offset.topic, stored_offset.partition): stored_offset.offset
        for stored_offset in await stored_offsets(store, [group])
    }
    partitions = await _partitions(store, group, [topic for topic, _ in offsets])
    owners = await owners_of(store, group, partitions)
    ends = await log_ends(await tool_run(run).admin(), partitions)
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
    run: ScriptRun,
    group: str,
    partitions: Sequence[TopicPartition],
    offsets: Mapping[tuple[str, int], int],
    ends: Mapping[TopicPartition, int],
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


async def _partitions(store: Store, group: str, topics: Sequence[str]) -> list[TopicPartition]:
    """Return all partitions of the topics that the group has offsets for, or has consumed."""
    partitions: list[TopicPartition] = []
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


async def _delete_groups(run: ScriptRun, store: Store, *, old: bool) -> None:
    """Delete the znodes of groups without consumers, or those of topics.

    Without `--group`, all groups that have no consumers are chosen. Kafka 0.10.2 deletes the whole group if the topic
    is the only one with owners, which loses offsets of other topics. They stay here.

    Raises:
        ScriptFailed: a group was not deleted.
    """
    groups, topics = run.values.all("group"), run.values.all("topic")
    has_failed = False
    existing = await child_names(store, ROOT)
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
            has_failed = True
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
    if has_failed:
        raise ScriptFailed("", on_stdout=True)


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
