"""`kafka groups lag`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.similar_names import similar
from kwire.client.admin import AdminError, GroupLag, PartitionLag
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import explain_if_hidden, may_be_incomplete, warn_of_unknown


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a group in a partition, a topic, or all topics.

    Attributes:
        name: the group.
        topic: the topic; None for all topics.
        partition: the partition; None for all partitions.
        committed: the committed offset; None for several partitions.
        end: the end of the log; None for several partitions, or if it is not known.
        lag: the messages between; None if it is not known, for several partitions also if one of them is not known.
        client: the client id of the member that reads the partition; None without one, or for several partitions.
        host: the address of the member.
    """

    name: str
    topic: str | None
    partition: int | None
    committed: int | None
    end: int | None
    lag: int | None
    client: str | None = field(default=None, metadata=column(if_known=True))
    host: str | None = field(default=None, metadata=column(if_known=True))


@operation(
    nothing="No committed offsets and no assigned partitions.",
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
    """Show how many messages groups are behind, without joining them.

    A partition that is assigned to a member and has no committed offset has a row, too: its lag is not known.
    """
    rows: Rows[Lag] = []
    unanswered: dict[int, Exception] = {}
    lags = await run.admin.group_lags(groups or None, unanswered=unanswered)
    if not groups:
        await warn_of_unknown(run, "groups", unanswered)
    if not groups and (reason := await explain_if_hidden(run, len(lags), "groups")) is not None:
        run.warn(f"{reason}.")
    topics = {p.topic for group in lags.values() if not isinstance(group, AdminError) for p in group.partitions}
    for topic_name in topic:
        if topic_name not in topics:
            suggested = similar(topic_name, tuple(topics))
            hint = f": did you mean {' or '.join(suggested)}?" if suggested else ""
            run.warn(f"no group has offsets of {topic_name}{hint}")
    is_empty = not any(isinstance(group, AdminError) or group.partitions for group in lags.values())
    if groups and is_empty and await may_be_incomplete(run.admin, "topics"):
        run.warn("there may be offsets of topics that this user cannot describe: brokers leave them out.")
    for name, group in lags.items():
        if isinstance(group, AdminError):
            rows.append(Failure(name, group))
            continue
        if group.error is not None:
            run.warn(f"{name}: assigned partitions without a commit are not known ({group.error.reason}).")
        shown = group._replace(partitions=tuple(p for p in group.partitions if not topic or p.topic in topic))
        _warn_of_unknown(run, shown, by_partition=partitions)
        if partitions:
            rows += [_row(name, p) for p in shown.partitions]
        elif total:
            rows.append(Lag(name, None, None, None, None, shown.total))
        else:
            for partition in sorted({p.topic for p in shown.partitions}):
                of_topic = shown._replace(partitions=tuple(p for p in shown.partitions if p.topic == partition))
                rows.append(Lag(name, partition, None, None, None, of_topic.total))
    return rows


def _row(group: str, lag: PartitionLag) -> Lag:
    client, host = (None, None) if lag.member is None else (lag.member.client_id, lag.member.host)
    return Lag(group, lag.topic, lag.partition, lag.committed, lag.end, lag.lag, client, host)


def _warn_of_unknown(run: Run, group: GroupLag, *, by_partition: bool) -> None:
    """Name the partitions with an unknown lag, and the sum of the others.

    Args:
        run: the run.
        group: the group.
        by_partition: True if each partition has a row, which shows that there is no committed offset.
    """
    unknown = [p for p in group.partitions if p.lag is None and not (by_partition and p.error is None)]
    if unknown:
        first = unknown[0]
        reason = "no committed offset" if first.error is None else first.error.reason
        known = [p.lag for p in group.partitions if p.lag is not None]
        others = f"; the others add up to {sum(known)}" if known else ""
        run.warn(
            f"{group.group_id}: the lag of {len(unknown)} of {len(group.partitions)} partitions is not known "
            f"({first.topic}-{first.partition}: {reason}){others}."
        )
