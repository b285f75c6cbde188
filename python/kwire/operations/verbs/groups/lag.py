"""`kafka groups lag`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwire.client.admin import AdminError, GroupLag
from kwire.operations.declaration import Failure, Rows, operation
from kwire.operations.parameters import Argument, Option
from kwire.operations.registry import similar
from kwire.operations.run import Run
from kwire.operations.verbs.visibility import explain_if_hidden


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a group in a partition, a topic, or all topics.

    Attributes:
        name: the group.
        topic: the topic; None for all topics.
        partition: the partition; None for all partitions.
        committed: the committed offset; None for several partitions.
        end: the end of the log; None for several partitions, or if it is not known.
        lag: the messages between; None if it is not known.
    """

    name: str
    topic: str | None
    partition: int | None
    committed: int | None
    end: int | None
    lag: int | None


@operation(
    nothing="No committed offsets.",
    dialects=("kafka",),
    examples=("groups lag", "groups lag billing --partitions", "groups lag --topic orders"),
)
async def lag(
    run: Run,
    groups: Annotated[list[str], Argument("Ids of the groups [default: all].", "GROUP", "groups")],
    topic: Annotated[list[str], Option("Only these topics.", "TOPIC", "topics")] = [],
    partitions: Annotated[bool, Option("A row for each partition instead of each topic.")] = False,
    total: Annotated[bool, Option("A row for each group instead of each topic.")] = False,
) -> Rows[Lag]:
    """Show how many messages groups are behind, without joining them."""
    rows: Rows[Lag] = []
    lags = await run.admin.group_lags(groups or None)
    if not groups and (reason := await explain_if_hidden(run, len(lags), "groups")) is not None:
        run.warn(f"{reason}.")
    topics = {p.topic for group in lags.values() if not isinstance(group, AdminError) for p in group.partitions}
    for topic_name in topic:
        if topic_name not in topics:
            suggested = similar(topic_name, tuple(topics))
            hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
            run.warn(f"no group has offsets of {topic_name}{hint}")
    for name, group in lags.items():
        if isinstance(group, AdminError):
            rows.append(Failure(name, group))
            continue
        shown = group._replace(partitions=tuple(p for p in group.partitions if not topic or p.topic in topic))
        if partitions:
            rows += [Lag(name, p.topic, p.partition, p.committed, p.end, p.lag) for p in shown.partitions]
        elif total:
            rows.append(Lag(name, None, None, None, None, _sum(shown)))
        else:
            for partition in sorted({p.topic for p in shown.partitions}):
                of_topic = shown._replace(partitions=tuple(p for p in shown.partitions if p.topic == partition))
                rows.append(Lag(name, partition, None, None, None, _sum(of_topic)))
    return rows


def _sum(group: GroupLag) -> int | None:
    """Return the sum of the lags; None if none of them is known, although there are some."""
    lags = [partition.lag for partition in group.partitions if partition.lag is not None]
    return sum(lags) if lags or not group.partitions else None
