"""The tool `update-offsets-in-zk`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from kwire._util.properties import parse_properties
from kwire._util.readable import counted
from kwire._util.text_files import EncodingError, read_properties
from kwire.client.admin import EARLIEST, LATEST
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument
from kwire_admin.operations.partitions import existing_partitions
from kwire_cluster.zookeeper.consumers import ConsumerOffset
from kwire_zookeeper_tools.offsets.offset_times import offsets_of
from kwire_zookeeper_tools.offsets.offset_writer import OffsetWriter
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
    group, hosts = _read(run.file(properties))
    run.use_zookeeper(hosts)
    writer = OffsetWriter(await run.zookeeper())
    admin = await run.admin()
    partitions = await existing_partitions(admin, [topic])
    offsets = await offsets_of(admin, partitions, EARLIEST if end is End.EARLIEST else LATEST)
    for partition, offset in offsets.items():
        run.print(f"updating partition {partition.partition} with new offset: {offset}")
        await writer.write(ConsumerOffset.path(group, topic, partition.partition), ConsumerOffset(offset).encode())
    run.print(f"updated the offset for {counted(writer.written, 'partition')}")


def _read(path: Path) -> tuple[str, str | None]:
    """Return `group.id`, and `zookeeper.connect` if it is given."""
    try:
        values = parse_properties(read_properties(path))
    except OSError as error:
        raise ToolFailed(f"cannot read {path}: {error.strerror}") from None
    except EncodingError as error:
        raise ToolFailed(f"cannot read {path}: {error}") from None
    if "group.id" not in values:
        raise InvalidArgument(f"{path} has no group.id")
    return values["group.id"], values.get("zookeeper.connect")
