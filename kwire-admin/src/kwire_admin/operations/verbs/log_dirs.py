"""`kafka log-dirs`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated, TypeAlias
from kwire.client.admin import LogDir, Outcomes, ReplicaSize, TopicPartition
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.changes import carry_out
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Danger, NotFound, Option
from kwire_admin.operations.partitions import NamedPartitions, partitions_of
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import warn_of_unanswered

Subject: TypeAlias = tuple[int | None, str | None, str | None]
"""The broker, the path, and the topic of a line."""


class Grouping(StrEnum):
    """The subject of a line."""

    DIR = "dir"
    BROKER = "broker"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class Usage:
    """The space that replicas take.

    Attributes:
        broker: the broker; None for a topic.
        path: the log directory; None for a topic or a broker.
        name: the topic; None for a directory or a broker.
        replicas: the number of replicas.
        moving: the number of them that are moving here from another directory of the broker.
        size: the bytes of their logs.
        usable: the bytes that are left; None for a topic, or if the broker does not report them.
        total: the bytes of the volumes; None for a topic, or if the broker does not report them.
    """

    broker: int | None
    path: str | None
    name: str | None
    replicas: int
    moving: int
    size: int = field(metadata=column(unit="bytes"))
    usable: int | None = field(metadata=column(unit="bytes"))
    total: int | None = field(metadata=column(unit="bytes"))


@operation(
    nothing="No log directories.",
    dialects=("kafka",),
    examples=("log-dirs list", "log-dirs list --by topic", "log-dirs list --broker 1"),
)
async def list_(
    run: Run,
    by: Annotated[Grouping, Option("A row for each directory, broker, or topic.")] = Grouping.DIR,
    broker: Annotated[list[int], Option("Only these brokers.", "ID", "brokers", minimum=0, maximum=2**31 - 1)] = [],
) -> Rows[Usage]:
    """List how much space the logs take and how much is left, the largest first."""
    unanswered: dict[int, Exception] = {}
    dirs = await run.admin.describe_log_dirs(broker, unanswered=unanswered)
    warn_of_unanswered(run, "log directories", unanswered)
    rows: Rows[Usage] = [
        Failure(f"broker {log_dir.broker} {log_dir.path}", log_dir.error) for log_dir in dirs if log_dir.error
    ]
    dirs_by_subject: dict[Subject, list[LogDir]] = defaultdict(list)
    replicas_by_subject: dict[Subject, list[ReplicaSize]] = defaultdict(list)
    for log_dir in dirs:
        if by is Grouping.TOPIC:
            for replica in log_dir.replicas:
                replicas_by_subject[None, None, replica.topic].append(replica)
        elif log_dir.error is None:  # nothing is known of the others, not even that they are empty
            subject = (log_dir.broker, log_dir.path if by is Grouping.DIR else None, None)
            dirs_by_subject[subject].append(log_dir)
            replicas_by_subject[subject] += log_dir.replicas
    usages = (
        Usage(
            *subject,
            len(replicas),
            sum(replica.is_future for replica in replicas),
            sum(replica.size for replica in replicas),
            _sum_of_known(log_dir.usable for log_dir in dirs_by_subject[subject]),
            _sum_of_known(log_dir.total for log_dir in dirs_by_subject[subject]),
        )
        for subject, replicas in replicas_by_subject.items()
    )
    return rows + sorted(usages, key=lambda usage: -usage.size)


def _sum_of_known(sizes: Iterable[int | None]) -> int | None:
    """Return the sum; None if no size is known. A directory that is not available has none."""
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None


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
    partitions: NamedPartitions,
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
