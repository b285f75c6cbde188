"""`kafka reassign-partitions snapshot`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument
from kwire_admin.operations.run import Run
from kwire_admin.reassignment.snapshot_reader import read_snapshot


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """A snapshot in a file.

    Attributes:
        file: the file.
        brokers: number of brokers.
        partitions: number of partitions.
    """

    file: str
    brokers: int
    partitions: int


@operation(examples=("reassign-partitions snapshot cluster.json",))
async def snapshot(
    run: Run, file: Annotated[Path, Argument("The file for the snapshot.", "FILE")]
) -> Rows[WrittenSnapshot]:
    """Return a snapshot of the cluster, which `plan` and `simulate` can read in place of the cluster."""
    taken = await read_snapshot(run.admin)
    run.files.write(file, taken.to_json())
    return [WrittenSnapshot(str(file), len(taken.brokers), len(taken.partitions))]
