"""Measure everything that is built on the codec.

    python -m benches.figures [--quick] [--only TOPIC] [--record FILE]

Prints a table and writes a record. Every topic is a module of `benches` with `run(quick) -> list[Figure]`, and runs
in a process of its own, so that topics do not share heaps, threads, or JVMs. If a topic fails, it is named at the end
and the exit code is 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import msgspec
from rich.console import Console

from benches import tables
from benches.figure import Figure
from benches.record import RECORDS, Machine, commit

TOPICS = (
    "columns",
    "record_batches",
    "polling",
    "gold_small",
    "node",
    "administration",
    "command_start",
    "exporter",
)
LIMIT = 3 * 3600
"""Time limit of a topic in seconds."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The record of a run."""

    made: str
    commit: str
    quick: bool
    machine: Machine
    figures: dict[str, list[Figure]]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benches.figures", description="Measure everything that is built on the codec."
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure small sizes in few rounds, for a first impression"
    )
    parser.add_argument("--only", choices=TOPICS, action="append", help="measure this topic; repeatable")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the record here [default: benches/records/figures-DATE.json]"
    )
    parser.add_argument(
        "--json", choices=TOPICS, metavar="TOPIC", help="run one topic in this process and print its figures as JSON"
    )
    given = parser.parse_args()
    if given.json:
        figures = import_module(f"benches.{given.json}").run(given.quick)
        sys.stdout.buffer.write(msgspec.json.encode([asdict(figure) for figure in figures]) + b"\n")
        return

    console = Console()
    now = datetime.now(UTC)
    measured = Measured(now.isoformat(timespec="seconds"), commit(), given.quick, Machine.here(), {})
    failed = []
    for topic in given.only or TOPICS:
        console.print(f"[dim]{topic} ...[/]")
        figures = measure(topic, quick=given.quick)
        if figures is None:
            failed.append(topic)
            continue
        measured.figures[topic] = figures
        console.print(tables.figures(topic, figures))
    file = given.record or RECORDS / f"figures-{now:%Y-%m-%d}{'-quick' if given.quick else ''}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    console.print(f"wrote {file}")
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def measure(topic: str, *, quick: bool) -> list[Figure] | None:
    """Run a topic in a process of its own; return None if it fails, after printing its errors."""
    command = [sys.executable, "-m", "benches.figures", "--json", topic, *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT, check=False)
    if done.returncode != 0:
        return None
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Figure])


if __name__ == "__main__":
    main()
