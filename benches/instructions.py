"""Count the instructions that the engine executes. Unlike times, they do not depend on other load.

    python -m benches.instructions [--only WORKLOAD] [--record FILE] [--against FILE [--limit PERCENT]]

Valgrind counts instructions for the Rust crate alone (bytes to `Value` and back) and for the package (bytes to Python
objects and back). The count of one call is the difference between a run with many calls and a run with few, which
excludes everything that happens once. Fewer instructions do not always take less time, but a difference of 0.1 % is a
change of the code and not noise. Another compiler also changes the counts, hence the limit of `make bench-check`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from rich.console import Console
from rich.table import Table

import kwire
from benches.interleave import Operation
from benches.native.programs import PROGRAMS, Lacking
from benches.peers.peer import load
from benches.workloads import Workload, message_class

if TYPE_CHECKING:
    from collections.abc import Callable

Layer: TypeAlias = Literal["crate", "package"]

WORKLOADS = (Workload("a", 1), Workload("a", 12), Workload("v", 3))
LARGE_WORKLOADS = (Workload("b", 12),)
"""Workloads that are counted on request, with a third of the calls."""
OPERATIONS: tuple[Operation, ...] = ("validate", "decode", "encode")
FEW, MANY = 10, 60
SMALL_MESSAGES = 20
"""The factor of calls for a small message."""
COLLECTED = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True, slots=True)
class Count:
    workload: str
    layer: Layer
    operation: Operation
    instructions: float
    """For each partition, or for the message if it has no partitions."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.instructions", description="Count instructions.")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the counts to this file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the counts in this file")
    parser.add_argument("--limit", type=float, metavar="PERCENT", help="fail if a count has grown by more than this")
    parser.add_argument("--only", metavar="WORKLOAD", help='count workloads that start with this, also "b v12"')
    given = parser.parse_args()
    workloads = list(WORKLOADS)
    if given.only:
        workloads = [each for each in (*WORKLOADS, *LARGE_WORKLOADS) if str(each).startswith(given.only)]
    if shutil.which("valgrind") is None:
        parser.exit(1, "valgrind is not installed: it counts the instructions\n")
    before = msgspec.json.decode(given.against.read_bytes(), type=list[Count]) if given.against else []

    console = Console()
    counts: list[Count] = []
    with tempfile.TemporaryDirectory() as folder:
        message = Path(folder, "message")
        for workload in workloads:
            message.write_bytes(workload.body())
            for layer, operation in ((layer, operation) for layer in LAYERS for operation in OPERATIONS):
                with console.status(f"{workload}: {layer}, {operation}"):
                    counts.append(count(workload, layer, operation, message))
    console.print(table(counts, before))
    if given.record:
        given.record.write_bytes(msgspec.json.format(msgspec.json.encode(counts), indent=1) + b"\n")
    if given.limit is not None and (slower := grown(counts, before, given.limit)):
        sys.exit(f"more instructions than in {given.against}: {', '.join(slower)}")


def grown(counts: list[Count], before: list[Count], percent: float) -> list[str]:
    """Return the counts that have grown by more than a percentage, with their growth."""
    earlier = {(count.workload, count.layer, count.operation): count.instructions for count in before}
    growth = {
        f"{count.workload} {count.layer} {count.operation}": count.instructions / was - 1
        for count in counts
        if (was := earlier.get((count.workload, count.layer, count.operation))) is not None
    }
    return [f"{name} {change:+.1%}" for name, change in growth.items() if change * 100 > percent]


def count(workload: Workload, layer: Layer, operation: Operation, message: Path) -> Count:
    times = 1 if workload.partitions else SMALL_MESSAGES
    calls = [calls // 3 if workload in LARGE_WORKLOADS else calls * times for calls in (FEW, MANY)]
    few, many = (LAYERS[layer](workload, operation, message, count) for count in calls)
    return Count(str(workload), layer, operation, (many - few) / (calls[1] - calls[0]) / (workload.partitions or 1))


def in_crate(workload: Workload, operation: Operation, message: Path, calls: int) -> int:
    """Count instructions of the program that is also compared with other languages."""
    program = PROGRAMS[0]
    try:
        program.prepare()
    except Lacking as reason:
        sys.exit(f"{program.name}: {reason}")
    plan = kwire.plan(message_class(workload.message), version=workload.version)
    command = (*program.command, str(message), str(workload.version), plan)
    return instructions(command, f"{operation} {calls}\n")


def in_package(workload: Workload, operation: Operation, message: Path, calls: int) -> int:
    """Count instructions of a Python process that runs `work`."""
    call = (workload.message, str(workload.version), operation, str(message), str(calls))
    return instructions((sys.executable, "-c", "from benches.instructions import work; work()", *call), "")


LAYERS: dict[Layer, Callable[[Workload, Operation, Path, int], int]] = {"crate": in_crate, "package": in_package}


def work() -> None:
    """Make the number of calls given on the command line. Nothing else depends on the number."""
    message, version, operation, file, calls = sys.argv[1:]
    codec = load("kwire").codec(message, int(version))
    argument = Path(file).read_bytes()
    if operation == "encode":
        argument = codec.decode(argument)
    call = getattr(codec, operation)
    for _ in range(int(calls)):
        call(argument)


def instructions(command: tuple[str, ...], standard_input: str) -> int:
    """Return the number of instructions of a program."""
    # Constant hashes, and no compilation of modules, which could differ between the two runs.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    counted = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        check=True,
        input=standard_input,
        capture_output=True,
        text=True,
        env=environment,
    )
    found = COLLECTED.search(counted.stderr)
    if found is None:
        raise RuntimeError(f"valgrind reported no count: {counted.stderr}")
    return int(found[1])


def table(counts: list[Count], before: list[Count]) -> Table:
    shown = Table(title="Instructions a partition (v: a message)", title_justify="left")
    shown.add_column("")
    shown.add_column("")
    for operation in OPERATIONS:
        shown.add_column(operation, justify="right")
    earlier = {(count.workload, count.layer, count.operation): count.instructions for count in before}
    rows: dict[tuple[str, Layer], list[str]] = {}
    for count in counts:
        text = f"{count.instructions:,.1f}"
        was = earlier.get((count.workload, count.layer, count.operation))
        if was is not None:
            text += f" ({count.instructions / was - 1:+.1%})"
        rows.setdefault((count.workload, count.layer), []).append(text)
    for names, cells in rows.items():
        shown.add_row(*names, *cells)
    return shown


if __name__ == "__main__":
    main()
