"""The cost of the command line: CPU time of `kafka --help` and of completion, relative to bare Python.

    python -m benches.command_line [--quick]

Processes take turns, so that both are measured under the same load. CPU time is hardly affected by other processes, and
a command that waits for nothing takes as long as its CPU time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benches.figure import Figure
from benches.program import print_figures
from kwire.cli.completion.name_cache import NameFile, cluster_choice

TOPICS = 50_000
BOOTSTRAP = "broker-1:9092"
LINE = f"kafka -b {BOOTSTRAP} topics describe team-07.topic-0010"
PROGRAMS = {
    "bare": ("-c", "pass"),
    "help": ("-m", "kwire", "--help"),
    "completion": ("-m", "kwire", "__complete", "bash", " \t\n:=", LINE),
}


def run(quick: bool) -> list[Figure]:
    """Measure both figures, with the names of 50,000 topics in the cache."""
    with TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        choice = cluster_choice(BOOTSTRAP, None, None, ())
        assert choice is not None
        NameFile(choice, "topics").write(f"team-{index % 50:02}.topic-{index:05}" for index in range(TOPICS))
        taken: dict[str, list[float]] = {name: [] for name in PROGRAMS}
        for program in PROGRAMS.values():
            cpu_milliseconds(program, cache)  # writes bytecode and the file of commands
        for _ in range(10 if quick else 40):
            for name, program in PROGRAMS.items():
                taken[name].append(cpu_milliseconds(program, cache))
    bare = median(taken["bare"])
    return [
        Figure(
            name,
            median(taken[key]) - bare,
            " ms",
            at_least,
            goal,
            higher_is_better=False,
            detail=f"CPU time over bare Python ({bare:.0f} ms)",
        )
        for name, key, at_least, goal in (
            ("kafka --help, over bare Python", "help", 150, 80),
            (f"completion among {TOPICS:,} topics after the first", "completion", 50, 20),
        )
    ]


def cpu_milliseconds(program: tuple[str, ...], cache: str) -> float:
    """Return the CPU time of a process, including the start of Python."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    output = os.open(Path(cache) / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    actions = [(os.POSIX_SPAWN_DUP2, output, 1)]
    process = os.posix_spawn(sys.executable, [sys.executable, *program], environment, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    os.close(output)
    if status != 0:
        raise RuntimeError(f"{' '.join(program)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1000


if __name__ == "__main__":
    print_figures(run, "command_line", "Measure the command line.", "few rounds, for a first impression")
