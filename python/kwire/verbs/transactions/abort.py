"""`kafka transactions abort`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire.verbs.changes import Change, InvalidArgument
from kwire.verbs.topic_partitions import parse_partition
from kwire.verbs.verb import Argument, Danger, Failure, Option, Rows, Run, verb


@verb(
    Danger.DESTROYS,
    dialects=("kafka",),
    examples=("transactions abort orders:0 --start-offset 1200 --dry-run",),
)
async def abort(
    run: Run,
    partition: Annotated[str, Argument("The partition as TOPIC:N.", "TOPIC:N", "topics")],
    start_offset: Annotated[int, Option("Where the transaction starts, as find-hanging shows it.", "OFFSET")],
) -> Rows[Change]:
    """End a hanging transaction of a partition with an abort marker. Its records are lost."""
    named = parse_partition(partition)
    producers = (await run.admin.describe_producers([named]))[named]
    if isinstance(producers, AdminError):
        return [Failure(str(named), producers)]
    found = [each for each in producers if each.transaction_start_offset == start_offset]
    if not found:
        open_at = sorted({each.transaction_start_offset for each in producers} - {None}, key=str)
        raise InvalidArgument(
            f"no open transaction of {named} starts at {start_offset}: "
            + (f"there are some at {', '.join(map(str, open_at))}" if open_at else "there is none at all")
        )
    [producer] = found
    if run.dry_run:
        return [Change(str(named), "would be aborted", 1)]
    run.confirm(f"Abort the transaction of producer {producer.producer_id} on {named} from {start_offset} on?")
    await run.admin.abort_transaction(named, producer)
    return [Change(str(named), "aborted", 1)]
