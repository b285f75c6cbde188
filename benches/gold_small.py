"""Little data in a new process: a recording to gold, and the same recording again.

    python -m benches.gold_small [--quick] [--in-process-rows ROWS]

Each round ingests a recording of three minutes into a new store, builds gold, and does both again. With
`--in-process-rows 0`, the command starts Spark.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benches.figure import Figure

RECORDING = Path(__file__).parents[1] / "tests" / "data" / "tapes" / "kraft44-public.parquet"


class Cost(NamedTuple):
    """CPU seconds of a command with everything that it started, and its seconds."""

    cpu_s: float
    seconds: float


def run(quick: bool, *options: str) -> list[Figure]:
    """Return the figures; `options` are further ones of the command."""
    rounds = [_round(options) for _ in range(1 if quick else 5)]
    new, again = zip(*rounds, strict=True)
    cost, repeated = (statistics.median(cost.cpu_s for cost in costs) for costs in (new, again))
    detail = f"{statistics.median(cost.seconds for cost in new):.1f} s; again {repeated:.1f} s of CPU"
    return [Figure("recording of 1,268 polls to gold in a new process, CPU", cost, " s", 12, 5, False, detail)]


def _round(options: tuple[str, ...]) -> tuple[Cost, Cost]:
    """Return the costs of a recording in a new store, and of the same one again."""
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        return _cost(folder, options), _cost(folder, options)


def _cost(folder: str, options: tuple[str, ...]) -> Cost:
    arguments = ["pipeline", "ingest", "--recording", str(RECORDING), "--out", folder, "--gold", *options]
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "kwire", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the command failed with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - started)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benches.gold_small", description="Measure a recording to gold.")
    parser.add_argument("--quick", action="store_true", help="measure one round")
    parser.add_argument("--in-process-rows", default="100000", help="as of the command")
    given = parser.parse_args()
    for figure in run(given.quick, "--in-process-rows", given.in_process_rows):
        print(figure)
