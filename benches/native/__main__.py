"""Compare kwire with programs in other languages on MetadataResponse v12 of workload (b).

    python -m benches.native [--quick] [--record FILE]

There are two times for each: of the working thread, and of the whole process, which includes garbage
collection or freeing. kwire takes part twice: with its Python objects and with the `Value` of the Rust crate.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING, Protocol

import msgspec
from rich.console import Console
from rich.table import Table

import kwire
from benches.interleave import pin_arenas
from benches.native.programs import PROGRAMS, Lacking, Worker
from benches.peers.peer import load
from benches.record import RECORDS, Machine, commit
from benches.workloads import Workload, message_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.peers.peer import Codec

WORKLOAD = Workload("b", 12)
OPERATIONS = ("decode", "encode", "reuse")
ROUNDS, QUICK_ROUNDS = 11, 3
CALLS = 3
WARM_UP = 40
"""Rounds of every operation before measuring, until the Java compiler has finished."""
AT_LEAST_AND_GOAL = {"decode": (1.5, 2.0), "encode": (1.0, 1.5)}
"""The targets of kwire: how many times as fast as the fastest other program."""
KWIRE_OBJECTS = "kwire, objects"


class Codecs(Protocol):
    """A codec that executes operations on command, in this or another process."""

    @property
    def operations(self) -> Sequence[str]:
        """The names of its operations."""

    def work(self, operation: str, calls: int) -> tuple[list[int], int]:
        """Return the nanoseconds of each call, and of all calls including freeing."""


class LocalCodec:
    """kwire with Python objects in this process."""

    operations = ("decode", "encode")

    def __init__(self, codec: Codec, body: bytes) -> None:
        self.pins = pin_arenas()
        self.calls = {"decode": (codec.decode, body), "encode": (codec.encode, codec.decode(body))}

    def work(self, operation: str, calls: int) -> tuple[list[int], int]:
        call, argument = self.calls[operation]
        taken, everything = [], 0
        for _ in range(calls):
            start = thread_time_ns()
            result = call(argument)
            called = thread_time_ns()
            del result
            taken.append(called - start)
            everything += thread_time_ns() - start
        return taken, everything


@dataclass(slots=True)
class Taken:
    """All samples of one program in nanoseconds for each call."""

    name: str
    language: str
    thread_ns: dict[str, list[int]] = field(default_factory=dict)
    process_ns: dict[str, list[int]] = field(default_factory=dict)


@dataclass(slots=True)
class NativeRecord:
    made: str
    commit: str
    machine: Machine
    workload: Workload
    rounds: int
    taken: list[Taken]
    lacking: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.native", description="Measure against other languages.")
    parser.add_argument("--quick", action="store_true", help="few rounds, for a rough estimate")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="record to write [default: benches/records/native-DATE.json]"
    )
    given = parser.parse_args()
    console = Console()
    now = datetime.now(UTC)

    record = NativeRecord(
        made=now.isoformat(timespec="seconds"),
        commit=commit(),
        machine=Machine.here(),
        workload=WORKLOAD,
        rounds=QUICK_ROUNDS if given.quick else ROUNDS,
        taken=[],
        lacking={},
    )
    measure(record, console)
    console.print(table(record))
    for name, reason in record.lacking.items():
        console.print(f"[yellow]skipping {name}: {reason}[/]", highlight=False)
    for operation in ("decode", "encode"):
        if (text := verdict(record, KWIRE_OBJECTS, operation)) is not None:
            console.print(text, highlight=False)

    file = given.record or RECORDS / f"native-{now:%Y-%m-%d}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    console.print(f"Wrote {file}")


def measure(record: NativeRecord, console: Console) -> None:
    body = WORKLOAD.body()
    plan = kwire.plan(message_class(WORKLOAD.message), version=WORKLOAD.version)
    with ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory())
        message = Path(folder, "message")
        message.write_bytes(body)
        codec = load("kwire").codec(WORKLOAD.message, WORKLOAD.version)
        workers: dict[str, Codecs] = {KWIRE_OBJECTS: LocalCodec(codec, body)}
        record.taken.append(Taken(KWIRE_OBJECTS, "Python"))
        for program in PROGRAMS:
            try:
                with console.status(f"building {program.name} (Rust takes minutes the first time)"):
                    program.prepare()
            except Lacking as reason:
                record.lacking[program.name] = str(reason)
                continue
            workers[program.name] = running.enter_context(Worker(program, message, WORKLOAD.version, plan))
            record.taken.append(Taken(program.name, program.language))
        with console.status("taking turns"):
            take_turns(record, workers, Random(0))


def take_turns(record: NativeRecord, workers: dict[str, Codecs], random: Random) -> None:
    turns = [(taken, name) for taken in record.taken for name in workers[taken.name].operations]
    for _ in range(WARM_UP):
        for taken, operation in turns:
            workers[taken.name].work(operation, CALLS)
    for _ in range(record.rounds):
        for taken, operation in random.sample(turns, len(turns)):
            thread, process = workers[taken.name].work(operation, CALLS)
            taken.thread_ns.setdefault(operation, []).extend(thread)
            taken.process_ns.setdefault(operation, []).append(process // CALLS)


def table(record: NativeRecord) -> Table:
    title = f"{record.workload}, CPU ns a partition: the working thread / the whole process"
    shown = Table(title=title, title_justify="left")
    for column in ("", "", "decode", "encode", "encode into the same buffer"):
        shown.add_column(column, justify="right" if column else "left")
    for taken in record.taken:
        shown.add_row(taken.name, taken.language, *(times(taken, operation) for operation in OPERATIONS))
    return shown


def times(taken: Taken, operation: str) -> str:
    if operation not in taken.thread_ns:
        return ""
    thread = median(taken.thread_ns[operation]) / WORKLOAD.partitions
    process = sum(taken.process_ns[operation]) / len(taken.process_ns[operation]) / WORKLOAD.partitions
    return f"{thread:.0f} / {process:.0f}"


def verdict(record: NativeRecord, name: str, operation: str) -> str | None:
    """Compare a codec of kwire with the fastest other one, by the time of the working thread."""
    medians = {timing.name: median(timing.thread_ns[operation]) for timing in record.taken}
    others = {other: taken for other, taken in medians.items() if not other.startswith("kwire")}
    if not others or name not in medians:
        return None
    fastest = min(others, key=others.__getitem__)
    ratio = others[fastest] / medians[name]
    at_least, goal = AT_LEAST_AND_GOAL[operation]
    reached = "goal" if ratio >= goal else "met" if ratio >= at_least else "missed"
    wanted = f"at least {at_least}x, goal {goal}x"
    return f"{name}, {operation}: {ratio:.2f}x the fastest, {fastest} ({wanted}): {reached}"


if __name__ == "__main__":
    main()
