"""The tool `export-zk-offsets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kwire._util.readable import counted
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_zookeeper_tools.offsets.consumer_offsets import stored_offsets
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    runs_on=ANYWHERE,
    needs={Need.ZOOKEEPER, Need.FILES},
    replaces=("kafka.tools.ExportZkOffsets",),
    examples=("--zookeeper localhost:2181", "--zookeeper localhost:2181 --group app --output-file offsets.txt"),
)
async def export_zk_offsets(
    run: ToolRun,
    group: Annotated[list[str], Option("Only the offsets of these groups.", "GROUP")] = [],
    output_file: Annotated[Path | None, Option("The file to write [default: the output].", "FILE")] = None,
) -> None:
    """Write the offsets of consumers in ZooKeeper as lines that import-zk-offsets reads.

    A line is /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET.
    """
    target = None if output_file is None else run.file(output_file)
    groups = [name for names in group for name in names.split(",")]
    lines = [str(stored_offset) for stored_offset in await stored_offsets(await run.zookeeper(), groups)]
    if target is None:
        for line in lines:
            run.print(line)
        return
    try:
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise ToolFailed(f"cannot write {output_file}: {error.strerror}") from None
    run.print(f"{counted(len(lines), 'offset')} written to {output_file}")
