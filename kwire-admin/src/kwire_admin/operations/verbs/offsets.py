"""`kafka offsets`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire.client.admin import EARLIEST, MAX_TIMESTAMP, AdminError, OffsetSpec, TopicDescription, TopicPartition
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_admin.operations.partitions import NamedPartitions, partitions_of, visible_partitions
from kwire_admin.operations.positions import LOOKUP, POSITION, offsets_at, parse_position
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class Offset:
    """An offset of a partition. See `kwire.client.admin.PartitionOffset`."""

    topic: str
    partition: int
    offset: int | None
    timestamp_ms: int | None = field(metadata=column(unit="time"))
    leader_epoch: int | None


@operation(
    nothing="No partitions.",
    dialects=("kafka",),
    examples=(
        "offsets list orders",
        "offsets list orders:0 --at earliest",
        "offsets list orders --at 2026-11-22T08:00Z",
    ),
)
async def list_(
    run: Run,
    partitions: NamedPartitions,
    at: Annotated[
        str,
        Option(
            "earliest, latest, max-timestamp, or a time with its zone, for the first message from it on.",
            "WHERE",
            syntax=LOOKUP,
        ),
    ] = "latest",
    committed: Annotated[bool, Option("End at the last stable offset: ignore open transactions.")] = False,
) -> Rows[Offset]:
    """List offsets of partitions: the ends of the log, or the offset at a time."""
    spec = MAX_TIMESTAMP if LOOKUP.match(at).string == "max-timestamp" else parse_position(at)
    assert isinstance(spec, OffsetSpec)  # LOOKUP matches no offset
    wanted, errors = await visible_partitions(run.admin, partitions)
    offsets = await run.admin.list_offsets(dict.fromkeys(wanted, spec), committed_only=committed)
    failures = [Failure(topic, error) for topic, error in errors.items()]
    return failures + [
        Failure(str(partition), result) if isinstance(result, AdminError) else Offset(*partition, *result)
        for partition, result in offsets.items()
    ]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Records of a partition that are deleted.

    Attributes:
        topic: the topic.
        partition: the partition.
        before: the first offset of the log before.
        after: the first offset of the log afterwards.
        status: `deleted`, or `would be deleted` in a dry run; `unchanged` if the log begins there already.
    """

    topic: str
    partition: int
    before: int
    after: int
    status: str


@operation(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=(
        "offsets delete-records orders:0 --before 1200 --dry-run",
        "offsets delete-records orders --before 2026-11-22T08:00Z --yes",
    ),
)
async def delete_records(
    run: Run,
    partitions: NamedPartitions,
    before: Annotated[
        str,
        Option(
            "The first record to keep: an offset, a time with its zone, or latest for the end of the log.",
            "WHERE",
            syntax=POSITION,
        ),
    ],
) -> Rows[Deletion]:
    """Delete the records of partitions before an offset or a time."""
    spec = parse_position(before)
    wanted = await partitions_of(run.admin, partitions)
    rows: Rows[Deletion] = []
    found = await run.admin.list_offsets(dict.fromkeys(wanted, EARLIEST))
    starts = _accepted({of: at if isinstance(at, AdminError) else at.offset or 0 for of, at in found.items()}, rows)
    positions = await offsets_at(run.admin, list(starts), spec)
    offsets = {partition: offset for partition, offset in positions.items() if not isinstance(offset, AdminError)}
    after = _accepted(positions | await run.admin.delete_records(offsets, validate_only=True), rows)
    if run.dry_run:
        await _warn_of_unknown_policies(run, {partition.topic for partition in after})
    # A log that starts at or after the new start stays as it is.
    rows += [
        Deletion(*partition, starts[partition], starts[partition], "unchanged")
        for partition in after
        if after[partition] <= starts[partition]
    ]
    after = {partition: offset for partition, offset in after.items() if offset > starts[partition]}
    planned = [
        Deletion(*partition, starts[partition], offset, "would be deleted") for partition, offset in after.items()
    ]
    if not after:
        return rows
    if run.dry_run:
        return [*rows, *planned]
    count = sum(offset - starts[partition] for partition, offset in after.items())
    run.show_plan(planned)
    run.confirm(f"Delete up to {counted(count, 'record')} of {counted(len(after), 'partition')}?")
    deleted = _accepted(await run.admin.delete_records(after), rows)
    return [*rows, *(Deletion(*partition, starts[partition], low, "deleted") for partition, low in deleted.items())]


def _accepted(offsets: dict[TopicPartition, int | AdminError], rows: Rows[Deletion]) -> dict[TopicPartition, int]:
    """Return the offsets without the errors, which become rows."""
    rows += [Failure(str(partition), offset) for partition, offset in offsets.items() if isinstance(offset, AdminError)]
    return {partition: offset for partition, offset in offsets.items() if not isinstance(offset, AdminError)}


async def _warn_of_unknown_policies(run: Run, topics: set[str]) -> None:
    """Say which topics have configs that this user cannot see: they may be compacted."""
    for name, topic in (await run.admin.describe_topics(sorted(topics), configs=True)).items() if topics else ():
        if isinstance(topic, TopicDescription) and topic.configs is None:
            run.warn(f"the configs of {name} are not known: brokers refuse to delete records if it is compacted.")
