"""CPU time of a process and everything that it started, which Spark's JVM and Python workers are."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree(process_id: int) -> list[int]:
    """Return a process and its descendants."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if (fields := _stat(int(path.name))) is not None:
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found = [process_id]
    for process in found:
        found += parents.get(process, [])
    return found


def cpu_of(process_id: int) -> float:
    """Return the CPU seconds of a process and its descendants, including ended ones."""
    stats = [fields for process in tree(process_id) if (fields := _stat(process)) is not None]
    return sum(sum(int(fields[place]) for place in (11, 12, 13, 14)) for fields in stats) / _TICKS


def _stat(process_id: int) -> list[str] | None:
    """Return the fields after the name: state, parent, ..."""
    try:
        return (Path("/proc") / str(process_id) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
