"""`kafka log-dirs move`."""

from __future__ import annotations

from collections.abc import Sequence

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire.client.admin import Outcomes, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, NotFound, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import carry_out
from kwire_admin.operations.verbs.topic_partitions import PARTITIONS, partitions_of

CHOSEN = "chosen"
"""The status of a directory for a replica that does not exist."""


@dataclass(frozen=True, slots=True)
class LogDirMove:
    """A replica that moves to another log directory of its broker.

    Attributes:
        topic: the topic.
        partition: the partition.
        broker: the broker.
        before: the directory that it leaves; None if the broker has no replica of the partition yet.
        after: the directory that it moves to, or in which it will be created.
        status: `moving`; `moved` if it has arrived; `cancelled` if it was moving elsewhere, and stays; `unchanged` if
            it was there before; `chosen` if the broker has no replica of the partition, and creates it there once one
            is assigned; `would be moved` in a dry run.
    """

    topic: str
    partition: int
    broker: int
    before: str | None
    after: str
    status: str


@operation(
    Danger.CHANGES,
    waits=True,
    dialects=("kafka",),
    examples=(
        "log-dirs move orders:0 --broker 1 --to /var/lib/kafka/b --dry-run",
        "log-dirs move orders audit:2 --broker 1 --to /var/lib/kafka/b",
    ),
)
async def move(
    run: Run,
    partitions: Annotated[
        list[str],
        Argument(
            "Topics, or partitions as TOPIC:N.", "TOPIC[:N]", "topics", syntax=PARTITIONS, item="topic or partition"
        ),
    ],
    broker: Annotated[int, Option("The broker that has the replicas.", "ID", "brokers", minimum=0, maximum=2**31 - 1)],
    to: Annotated[str, Option("The log directory, as `log-dirs list` reports it.", "PATH")],
) -> Rows[LogDirMove]:
    """Move replicas to another log directory of their broker. A move to their present one cancels another move."""
    by_item = {str(partition): partition for partition in await partitions_of(run.admin, partitions)}
    paths = [log_dir.path for log_dir in await run.admin.describe_log_dirs([broker])]
    if to not in paths:
        raise NotFound(f"broker {broker} has no log directory {to}: it has {', '.join(paths)}")
    before = await run.admin.describe_replica_log_dirs(broker, by_item.values())

    async def move_to(items: Sequence[str], *, validate_only: bool = False) -> Outcomes:
        moves = {by_item[item]: to for item in items}
        return await run.admin.alter_replica_log_dirs(broker, moves, validate_only=validate_only)

    outcomes = await carry_out(run, by_item, "", move_to)
    moving = {by_item[item]: to for item, error in outcomes.items() if error is None and item not in outcomes.unchanged}
    arrived: set[TopicPartition] = set()
    if moving and run.wait and not run.dry_run:
        arrived = await run.admin.wait_for_log_dirs(broker, moving, timeout=run.wait)
    rows: Rows[LogDirMove] = []
    for item, error in outcomes.items():
        partition, current = by_item[item], before[by_item[item]].current
        if error is not None and error.code != ErrorCode.REPLICA_NOT_AVAILABLE:
            rows.append(Failure(item, error))
            continue
        done = CHOSEN if current is None else "cancelled" if current == to else "moved"
        status = f"would be {done}" if run.dry_run else done
        if item in outcomes.unchanged:
            status = "unchanged"
        elif done != CHOSEN and not run.dry_run and partition not in arrived:
            status = "moving"
        rows.append(LogDirMove(partition.topic, partition.partition, broker, current, to, status))
    return rows
