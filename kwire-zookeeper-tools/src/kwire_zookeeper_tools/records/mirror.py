"""Mirroring of topics between two clusters: routes, positions of a consumer group, and commits of the progress."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from kwire._util.readable import counted
from kwire.client.admin import AdminError, NewTopic, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import ToolFailed
from kwire_admin.operations.partitions import existing_topics
from kwire_zookeeper_tools.records.record_copy import RecordCopy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.client.admin import AdminClient, OffsetSpec
    from kwire_admin.operations.topic_filter import TopicFilter

__all__ = ["Mirror"]

WAIT_SECONDS = 30.0
"""Time to wait until the target has created topics."""
OF_A_TOPIC = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED})
"""Codes of a commit that concern a topic, which was deleted for example, and not the group."""


class Mirror:
    """Copies topics of one cluster to another, and keeps the progress as committed offsets of a group in the source.

    Attributes:
        copy: the copy of the records, with their numbers.
        topics: the topics in alphabetical order.
        routes: the target partition of each source partition.
    """

    def __init__(
        self,
        source: AdminClient,
        target: AdminClient,
        routes: Mapping[TopicPartition, TopicPartition],
        positions: Mapping[TopicPartition, int],
        group: str,
        report: Callable[[str], None],
        *,
        skip_refused: bool = False,
    ) -> None:
        self._source = source
        self._group = group
        self._report = report
        self.copy = RecordCopy(source, target, routes, positions, skip_refused=skip_refused, report=report)
        self._committed = dict(positions)
        self._not_created: list[str] = []
        self.routes = routes
        self.topics = sorted({route.topic for route in routes})

    @classmethod
    async def prepare(
        cls,
        source: AdminClient,
        target: AdminClient,
        topics: TopicFilter,
        group: str,
        start: OffsetSpec,
        report: Callable[[str], None],
        *,
        skip_refused: bool = False,
    ) -> Self:
        """Find the partitions to copy, create missing topics in the target, and look up the progress.

        Args:
            group: the consumer group in the source.
            start: the start of a partition without progress.
            report: receives lines about partitions that cannot be copied, and about the progress.
            skip_refused: true to go on after records that the target refuses.

        Raises:
            ToolFailed: no topic matches, or the target refuses all of them.
            AdminError: a cluster refuses a request.
        """
        counts = await _partition_counts(source, topics)
        if not counts:
            raise ToolFailed("no topic of the source matches the expression")
        existing = await _partition_counts(target, topics)
        not_created: list[str] = []
        missing = {name: count for name, count in counts.items() if name not in existing}
        if missing:
            made = await target.create_topics({name: NewTopic(partitions=count) for name, count in missing.items()})
            if len(made.errors) == len(counts):
                made.raise_first()
            for name, error in made.errors.items():
                report(f"the target does not create the topic {name}, which is not copied: {error}")
                not_created.append(name)
                del missing[name], counts[name]
            await target.wait_until_created(missing, timeout=WAIT_SECONDS)
        existing |= missing
        routes = {
            TopicPartition(name, number): TopicPartition(name, number % existing[name])
            for name, count in counts.items()
            for number in range(count)
        }
        positions = await _positions(source, group, list(routes), start)
        known = {partition: offset for partition, offset in positions.items() if not isinstance(offset, AdminError)}
        self = cls(source, target, routes, dict.fromkeys(routes, 0) | known, group, report, skip_refused=skip_refused)
        for partition, offset in positions.items():
            if isinstance(offset, AdminError):
                self.copy.fail(partition, str(offset))
        self._not_created = not_created
        return self

    async def run(self, until: Mapping[TopicPartition, int] | None, interval: float) -> None:
        """Copy, and commit the progress at an interval and at the end, also after a failure or a cancellation.

        Args:
            until: the offsets at which to end; None to go on for ever.
            interval: seconds between two commits.

        Raises:
            ToolFailed: see `RecordCopy.run`.
            AdminError: the progress cannot be committed.
        """
        committing = asyncio.create_task(self._commit_regularly(interval))
        copying = asyncio.create_task(self.copy.run(until))
        try:
            await asyncio.wait((copying, committing), return_when=asyncio.FIRST_COMPLETED)
            if committing.done() and not copying.done():
                committing.result()
            await copying
            if self._not_created:
                raise ToolFailed(f"topics that the target does not create: {', '.join(self._not_created)}")
        finally:
            for task in (copying, committing):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.gather(task, return_exceptions=True)
            await self._commit()

    async def _commit_regularly(self, interval: float) -> None:
        reported = 0
        while True:
            await asyncio.sleep(interval)
            await self._commit()
            if self.copy.copied != reported:
                self._report(f"{counted(self.copy.copied, 'record')} copied, progress committed")
                reported = self.copy.copied

    async def _commit(self) -> None:
        moved = {
            partition: offset
            for partition, offset in self.copy.acknowledged.items()
            if offset != self._committed[partition]
        }
        if moved:
            outcomes = await self._source.alter_group_offsets(self._group, moved)
            if any(error.code not in OF_A_TOPIC for error in outcomes.errors.values()):
                outcomes.raise_first()
            for partition in moved:
                if (error := outcomes[str(partition)]) is not None:
                    self.copy.fail(partition, f"the progress cannot be committed: {error}")
            self._committed |= moved


async def _partition_counts(admin: AdminClient, topics: TopicFilter) -> dict[str, int]:
    return {
        name: len(topic.partitions)
        for name, topic in (await existing_topics(admin)).items()
        if topics.accepts(name) and not topic.is_internal
    }


async def _positions(
    source: AdminClient, group: str, partitions: Sequence[TopicPartition], start: OffsetSpec
) -> dict[TopicPartition, int | AdminError]:
    """Return the committed offset of each partition, or the start for one without it."""
    committed = (await source.list_group_offsets([group]))[group]
    if isinstance(committed, AdminError):
        raise committed
    positions: dict[TopicPartition, int | AdminError] = {
        partition: committed[partition].offset for partition in partitions if partition in committed
    }
    new = [partition for partition in partitions if partition not in positions]
    for partition, position in (await source.list_offsets(dict.fromkeys(new, start))).items():
        positions[partition] = position if isinstance(position, AdminError) else position.offset or 0
    return positions
