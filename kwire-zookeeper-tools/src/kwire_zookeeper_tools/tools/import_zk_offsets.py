"""The tool `import-zk-offsets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kwire._util.readable import counted
from kwire._util.text_files import EncodingError, read_text
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_zookeeper_tools.offsets.consumer_offsets import parse_line, write_offset
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.ZOOKEEPER, Need.FILES},
    replaces=("kafka.tools.ImportZkOffsets",),
    examples=("--zookeeper localhost:2181 --input-file offsets.txt",),
)
async def import_zk_offsets(
    run: ToolRun, input_file: Annotated[Path, Option("The file that export-zk-offsets has written.", "FILE")]
) -> None:
    """Write offsets of consumers from a file to ZooKeeper.

    The whole file is checked before the first offset is written.
    """
    source = run.file(input_file)
    try:
        lines = read_text(source).split("\n")
    except (OSError, EncodingError) as error:
        raise ToolFailed(f"cannot read {input_file}: {error}") from None
    offsets = [parse_line(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    store = await run.zookeeper()
    for written, offset in enumerate(offsets):
        await write_offset(store, offset, written=written)
    run.print(f"{counted(len(offsets), 'offset')} written to ZooKeeper")
