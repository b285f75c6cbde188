"""`kafka offsets list`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire.client.admin import MAX_TIMESTAMP, AdminError, OffsetSpec
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.positions import LOOKUP, parse_position
from kwire_admin.operations.verbs.topic_partitions import PARTITIONS, visible_partitions


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
    partitions: Annotated[
        list[str],
        Argument(
            "Topics, or partitions as TOPIC:N.", "TOPIC[:N]", "topics", syntax=PARTITIONS, item="topic or partition"
        ),
    ],
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
