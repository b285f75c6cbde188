"""The figures of everything that stands on the codec, in one table and one record.

    python -m benches.figures [--quick] [--only TOPIC] [--record FILE]

Every topic is a module of `benches` with ``run(quick) -> list[Figure]``. Each has a process of its own, so that one
topic's heap, threads and Java machines are not another topic's neighbours. A topic that fails is named at the end and
makes the exit code 1: a figure that was not measured was not reached.
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
from rich.table import Table

from benches.figure import Figure
from benches.record import RECORDS, Machine, commit
from benches.tables import STYLES

TOPICS = ("columns", "decoder", "polling", "capture", "spark", "zookeeper", "controller", "node", "cluster")
LIMIT = 3 * 3600
"""Seconds that one topic may take."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run on paper."""

    made: str
    commit: str
    quick: bool
    machine: Machine
    figures: dict[str, list[Figure]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.figures", description="Measure what stands on the codec.")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds: a look, not a measurement")
    parser.add_argument("--only", choices=TOPICS, action="append", help="this topic alone; may be given again")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where to write (benches/records/figures-*.json)")
    parser.add_argument("--json", choices=TOPICS, metavar="TOPIC", help="run one topic here, print its figures as JSON")
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
        console.print(table(topic, figures))
    file = given.record or RECORDS / f"figures-{now:%Y-%m-%d}{'-quick' if given.quick else ''}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    console.print(f"Written to {file}")
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def measure(topic: str, *, quick: bool) -> list[Figure] | None:
    """One topic in a process of its own; None when it failed, and then its errors have been shown."""
    command = [sys.executable, "-m", "benches.figures", "--json", topic, *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT, check=False)
    if done.returncode != 0:
        return None
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=list[Figure])


def table(topic: str, figures: list[Figure]) -> Table:
    shown = Table(title=topic, title_justify="left")
    for column in ("", "at least", "goal", "now", "", "how"):
        shown.add_column(column, justify="right" if column in {"at least", "goal", "now"} else "left")
    for figure in figures:
        sign = "" if figure.higher_is_better else "<= "
        verdict = figure.verdict()
        shown.add_row(
            figure.name,
            f"{sign}{figure.at_least:g}{figure.unit}",
            f"{sign}{figure.goal:g}{figure.unit}",
            f"{figure.value:.3g}{figure.unit}",
            f"[{STYLES[verdict]}]{verdict}[/]",
            figure.detail,
        )
    return shown


if __name__ == "__main__":
    main()
