"""Reports of one broker besides metadata: groups, committed offsets, ends of logs, and log directories.

`kwire.client.polled_inputs` polls them. A group is reported by its coordinator, and the end of a log by its leader.
When the coordinator or leader moves, the broker before keeps its last report, or reports 'gone' after the new one
reports 'set': the newest 'set' of any broker counts, until the same broker reports 'gone'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.metadata.diff import keyed_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    AddRow = Callable[..., None]
    """Adds a row: the name of the table, the time in microseconds since 1970, and the values after `broker_id`."""

LIST_OFFSETS, OFFSET_FETCH, LIST_GROUPS, DESCRIBE_LOG_DIRS = 2, 9, 16, 35


def add_changes(
    add: AddRow, table: str, at: int, before: Mapping[Any, Any], after: Mapping[Any, Any], *owner: str
) -> None:
    """Add rows for the differences between two reports, mappings from a key, or several, to the other columns.

    `owner` has the columns before the key.
    """
    for key, old, new in keyed_changes(before, after):
        keys = key if isinstance(key, tuple) else (key,)
        if new is not None:
            add(table, at, *owner, *keys, "set", *new)
        elif old is not None:
            add(table, at, *owner, *keys, "gone", *old)


class GroupOffsetsState:
    """The groups, committed offsets, and log ends that one broker has reported."""

    api_keys = frozenset({LIST_OFFSETS, OFFSET_FETCH, LIST_GROUPS})

    def __init__(self, add: AddRow) -> None:
        self._add = add
        self._groups: dict[str, tuple[str, str, str]] = {}
        self._offsets: dict[str, dict[tuple[str, int], tuple[int]]] = {}
        self._log_ends: dict[str, dict[int, int]] = {}

    def apply(self, at: int, message: Any) -> None:
        """Apply a response, and add rows for what it changes."""
        if message.api_key == LIST_OFFSETS:
            self._apply_log_ends(at, message.topics)
        elif message.api_key == LIST_GROUPS:
            if message.error_code == 0:
                self._apply_groups(at, message.groups)
        else:
            for group in message.groups:
                if group.error_code == 0:
                    self._apply_offsets(at, group.group_id, group.topics)

    def remove_topic(self, at: int, topic: str) -> None:
        """Add rows for everything that ends with a topic that the broker no longer lists."""
        for partition, end in self._log_ends.pop(topic, {}).items():
            self._add("log_ends", at, topic, partition, "gone", end)

    def _apply_groups(self, at: int, listed: Iterable[Any]) -> None:
        reported = {group.group_id: (group.group_state, group.group_type, group.protocol_type) for group in listed}
        add_changes(self._add, "groups", at, self._groups, reported)
        self._groups = reported
        for group in self._offsets.keys() - reported.keys():
            self._replace_offsets(at, group, {})

    def _apply_offsets(self, at: int, group: str, topics: Iterable[Any]) -> None:
        previous = self._offsets.get(group, {})
        offsets = {}
        for topic in topics:
            for partition in topic.partitions:
                key = topic.name, partition.partition_index
                # Without a commit the offset is -1; tools have committed other negative numbers.
                if partition.error_code == 0 and partition.committed_offset >= 0:
                    offsets[key] = (partition.committed_offset,)
                elif partition.error_code != 0 and key in previous:
                    offsets[key] = previous[key]
        self._replace_offsets(at, group, offsets)

    def _replace_offsets(self, at: int, group: str, offsets: dict[tuple[str, int], tuple[int]]) -> None:
        add_changes(self._add, "group_offsets", at, self._offsets.pop(group, {}), offsets, group)
        if offsets:
            self._offsets[group] = offsets

    def _apply_log_ends(self, at: int, topics: Iterable[Any]) -> None:
        for topic in topics:
            previous = self._log_ends.setdefault(topic.name, {})
            for partition in topic.partitions:
                end = partition.offset
                if partition.error_code == 0 and end >= 0 and previous.get(partition.partition_index) != end:
                    previous[partition.partition_index] = end
                    self._add("log_ends", at, topic.name, partition.partition_index, "set", end)


class LogDirsState:
    """The log directories that one broker has reported, and the sizes of their replicas by topic."""

    api_keys = frozenset({DESCRIBE_LOG_DIRS})

    def __init__(self, add: AddRow) -> None:
        self._add = add
        self._log_dirs: dict[str, tuple[int, int, int, bool]] = {}
        self._sizes: dict[tuple[str, str], tuple[int, int, int, int]] = {}

    def apply(self, at: int, message: Any) -> None:
        """Apply a response, and add rows for what it changes."""
        if message.error_code != 0 or not message.results:  # before version 3, an empty list means no permission
            return
        log_dirs = {
            result.log_dir: (result.error_code, result.total_bytes, result.usable_bytes, result.is_cordoned)
            for result in message.results
        }
        sizes = {
            (result.log_dir, topic.name): _size(topic.partitions)
            for result in message.results
            for topic in result.topics
        }
        add_changes(self._add, "log_dirs", at, self._log_dirs, log_dirs)
        add_changes(self._add, "topic_sizes", at, self._sizes, sizes)
        self._log_dirs, self._sizes = log_dirs, sizes

    def remove_topic(self, at: int, topic: str) -> None:
        """Do nothing: the files of a deleted topic are there until the broker deletes them."""


def _size(replicas: Any) -> tuple[int, int, int, int]:
    """Return the number of replicas and their bytes, then the same of the replicas that are moving there."""
    sizes = [replica.partition_size for replica in replicas if not replica.is_future_key]
    future = [replica.partition_size for replica in replicas if replica.is_future_key]
    return len(sizes), sum(sizes), len(future), sum(future)
