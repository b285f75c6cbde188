"""The tool `get-offset-shell`."""

from __future__ import annotations

from typing import Annotated

from kwire.client.admin import AdminError
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.partitions import existing_partitions, parse_numbers
from kwire_zookeeper_tools.offsets.offset_times import parse_time
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS},
    without_effect=("--offsets N", "--max-wait-ms MS"),
    replaces=("kafka.tools.GetOffsetShell", "org.apache.kafka.tools.GetOffsetShell"),
    examples=("--bootstrap-server localhost:9092 --topic orders", "--topic orders --partitions 0,1 --time earliest"),
)
async def get_offset_shell(
    run: ToolRun,
    topic: Annotated[list[str], Option("Only these topics [default: all].", "TOPIC")] = [],
    partitions: Annotated[str | None, Option("Only these partitions.", "N,N,...")] = None,
    time: Annotated[str, Option("latest, earliest, max-timestamp, or milliseconds since 1970.", "WHERE")] = "latest",
) -> None:
    """Print an offset of each partition as TOPIC:PARTITION:OFFSET.

    The offset is the end of the log, its beginning, or the offset of the first record from a time on. It is empty if no
    record is as new as the time.
    """
    spec = parse_time("--time", time)
    admin = await run.admin()
    wanted = await existing_partitions(admin, topic, parse_numbers(partitions))
    offsets = await admin.list_offsets(dict.fromkeys(wanted, spec))
    failed: list[str] = []
    for partition in sorted(offsets):
        offset = offsets[partition]
        if isinstance(offset, AdminError):
            failed.append(str(offset))
        else:
            shown = "" if offset.offset is None else offset.offset
            run.print(f"{partition.topic}:{partition.partition}:{shown}")
    if failed:
        raise ToolFailed("; ".join(failed))
