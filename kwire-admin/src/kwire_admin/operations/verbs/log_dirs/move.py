"""`kafka log-dirs move`."""

from __future__ import annotations

from typing import Annotated

from kwire._util.light_dataclasses import dataclass
from kwire.client.admin import AdminError, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, NotFound, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import check_command
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
        status: `moving`; `moved` if it has arrived; `unchanged` if it was there before; `chosen` if the broker has no
            replica of the partition, and creates it there once one is assigned; `would be moved` in a dry run.
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
    """Move replicas to another log directory of their broker."""
    wanted = await partitions_of(run.admin, partitions)
    dirs = await run.admin.describe_log_dirs([broker])
    if to not in {log_dir.path for log_dir in dirs}:
        raise NotFound(
            f"broker {broker} has no log directory {to}: it has {', '.join(log_dir.path for log_dir in dirs)}"
        )
    # A future replica is a move in progress: its directory is not where the log is.
    before = {
        TopicPartition(replica.topic, replica.partition): log_dir.path
        for log_dir in dirs
        for replica in log_dir.replicas
        if not replica.is_future
    }
    existing = set(await partitions_of(run.admin, sorted({partition.topic for partition in wanted})))
    rows: Rows[LogDirMove] = [
        Failure(str(partition), AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition)))
        for partition in wanted
        if partition not in existing
    ]
    rows += [_row(partition, broker, before, to, "unchanged") for partition in wanted if before.get(partition) == to]
    moving = [partition for partition in wanted if partition in existing and before.get(partition) != to]
    if moving:
        await check_command(run, "AlterReplicaLogDirsRequest")
    if run.dry_run or not moving:
        planned = {partition: "moved" if partition in before else CHOSEN for partition in moving}
        return [*rows, *(_row(at, broker, before, to, f"would be {status}") for at, status in planned.items())]
    outcomes = await run.admin.alter_replica_log_dirs(broker, dict.fromkeys(moving, to))
    accepted = [partition for partition in moving if outcomes[str(partition)] is None]
    arrived: set[TopicPartition] = set()
    if accepted and run.wait:
        arrived = await run.admin.wait_for_log_dirs(broker, dict.fromkeys(accepted, to), timeout=run.wait)
    rows += [Failure(item, error) for item, error in outcomes.errors.items() if not _is_chosen(error)]
    for partition in moving:
        if _is_chosen(outcomes[str(partition)]):
            rows.append(_row(partition, broker, before, to, CHOSEN))
        elif partition in accepted:
            rows.append(_row(partition, broker, before, to, "moved" if partition in arrived else "moving"))
    return rows


def _is_chosen(error: AdminError | None) -> bool:
    """Return whether the broker has no such replica: there is nothing to move, and no arrival to wait for."""
    return error is not None and error.code == ErrorCode.REPLICA_NOT_AVAILABLE


def _row(partition: TopicPartition, broker: int, before: dict[TopicPartition, str], to: str, status: str) -> LogDirMove:
    return LogDirMove(partition.topic, partition.partition, broker, before.get(partition), to, status)
