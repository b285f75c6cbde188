"""Peak memory of a workload, measured in a child process.

The address space of the child is limited to what the test allows, so that more raises `MemoryError`. The kernel
provides the peak. Works only on Linux.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.hostile import work
from tests.installing import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1 << 20


class Watched(NamedTuple):
    """The result of the work, and the peak memory in bytes above the initial memory."""

    outcome: str
    peak: int


def watched(name: str, *arguments: str) -> Watched:
    """Call a function of `tests.hostile.work` in a child process, then measure the call of its result."""
    command = [sys.executable, "-m", "tests.hostile.watched", name, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stderr}"
    return Watched(*json.loads(done.stdout))


def main() -> None:
    name, *arguments = sys.argv[1:]
    prepared: tuple[Callable[[], str], int] = getattr(work, name)(*arguments)
    call, allowed = prepared
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + allowed, most))
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _status("VmRSS")
    outcome = call()
    peak = _status("VmHWM") - before
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    json.dump((outcome, peak), sys.stdout)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


if __name__ == "__main__":
    main()
