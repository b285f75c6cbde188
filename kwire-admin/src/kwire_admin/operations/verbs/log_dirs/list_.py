"""`kafka log-dirs list`."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

from kwire._util.light_dataclasses import dataclass, field
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


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
        size: the bytes of their logs.
        usable: the bytes that are left; None for a topic, or if the broker does not report them.
        total: the bytes of the volumes; None for a topic, or if the broker does not report them.
    """

    broker: int | None
    path: str | None
    name: str | None
    replicas: int
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
    dirs = await run.admin.describe_log_dirs(broker)
    rows: Rows[Usage] = [
        Failure(f"broker {log_dir.broker} {log_dir.path}", log_dir.error) for log_dir in dirs if log_dir.error
    ]
    usages: list[Usage] = []
    if by is Grouping.TOPIC:
        sizes: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for replica in (replica for log_dir in dirs for replica in log_dir.replicas):
            sizes[replica.topic] += replica.size
            counts[replica.topic] += 1
        usages = [Usage(None, None, name, counts[name], size, None, None) for name, size in sizes.items()]
    elif by is Grouping.BROKER:
        for id in sorted({log_dir.broker for log_dir in dirs}):
            own = [log_dir for log_dir in dirs if log_dir.broker == id]
            replicas = [replica for log_dir in own for replica in log_dir.replicas]
            usable = [log_dir.usable for log_dir in own if log_dir.usable is not None]
            total = [log_dir.total for log_dir in own if log_dir.total is not None]
            size = sum(replica.size for replica in replicas)
            usages.append(Usage(id, None, None, len(replicas), size, sum(usable) or None, sum(total) or None))
    else:
        for log_dir in dirs:
            size = sum(replica.size for replica in log_dir.replicas)
            usages.append(
                Usage(log_dir.broker, log_dir.path, None, len(log_dir.replicas), size, log_dir.usable, log_dir.total)
            )
    return rows + sorted(usages, key=lambda usage: -usage.size)
