"""The tool `update-offsets-in-zk`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from kwire._util.readable import counted
from kwire.client.admin import EARLIEST, LATEST
from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument
from kwire_admin.operations.partitions import existing_partitions
from kwire_zookeeper_tools.offsets.consumer_offsets import StoredOffset, write_offset
from kwire_zookeeper_tools.offsets.offset_times import offsets_of
from kwire_zookeeper_tools.tool_run import ToolRun


class End(StrEnum):
    """An end of a log."""

    EARLIEST = "earliest"
    LATEST = "latest"


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.ZOOKEEPER, Need.BROKERS, Need.FILES},
    replaces=("kafka.tools.UpdateOffsetsInZK",),
    examples=("earliest consumer.properties orders",),
)
async def update_offsets_in_zk(
    run: ToolRun,
    end: Annotated[End, Argument("Where the group is to continue.", "earliest|latest")],
    properties: Annotated[Path, Argument("A file with group.id and, unless --zookeeper is given, zookeeper.connect.")],
    topic: Annotated[str, Argument("The topic.")],
) -> None:
    """Set the offsets of a group in ZooKeeper to the beginning or the end of each partition of a topic."""
    values = run.properties(properties)
    if "group.id" not in values:
        raise InvalidArgument(f"{properties} has no group.id")
    run.use_zookeeper(values.get("zookeeper.connect"))
    store = await run.zookeeper()
    admin = await run.admin()
    partitions = await existing_partitions(admin, [topic])
    offsets = await offsets_of(admin, partitions, EARLIEST if end is End.EARLIEST else LATEST)
    for written, (partition, offset) in enumerate(offsets.items()):
        run.print(f"updating partition {partition.partition} with new offset: {offset}")
        await write_offset(store, StoredOffset(values["group.id"], *partition, offset), written=written)
    run.print(f"updated the offset for {counted(len(offsets), 'partition')}")
