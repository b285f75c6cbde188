"""`kafka topics list`."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

from kwire.client.admin import AdminError
from kwire.operations.declaration import Failure, Rows, operation
from kwire.operations.parameters import Argument, Option
from kwire.operations.run import Run


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A topic in a list.

    Attributes:
        name: the name of the topic.
        partitions: the number of partitions.
        replication_factor: the number of replicas of the first partition.
        internal: true if Kafka itself uses the topic.
    """

    name: str
    partitions: int
    replication_factor: int | None
    internal: bool


@operation(
    nothing="No topics.",
    lists="topics",
    examples=("topics list", "topics list 'orders-*'", "topics list --internal --output json"),
)
async def list_(
    run: Run,
    pattern: Annotated[str | None, Argument("Only topics that match, with * and ? as wildcards.")] = None,
    internal: Annotated[bool, Option("Include internal topics, such as __consumer_offsets.")] = False,
) -> Rows[TopicSummary]:
    """List topics."""
    rows: Rows[TopicSummary] = []
    for name, topic in sorted((await run.admin.describe_topics()).items()):
        if pattern is not None and not fnmatchcase(name, pattern):
            continue
        if isinstance(topic, AdminError):
            rows.append(Failure(name, topic))
        elif internal or not topic.is_internal:
            factor = len(topic.partitions[0].replicas) if topic.partitions else None
            rows.append(TopicSummary(name, len(topic.partitions), factor, topic.is_internal))
    return rows
