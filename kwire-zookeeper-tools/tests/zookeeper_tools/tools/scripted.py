"""Tools with faults, as packages could install them."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from pathlib import Path
from typing import Annotated

from kwire_zookeeper_tools import ANYWHERE, InvalidArgument, Option, ToolFailed, ToolRun, operation


@operation(runs_on=ANYWHERE)
async def raising(run: ToolRun) -> None:
    """Print a line and raise."""
    run.print("the first part is done")
    raise LookupError("no such thing")


@operation(runs_on=ANYWHERE)
async def impatient(run: ToolRun) -> None:
    """Wait for something, but not for long."""
    run.print("waiting")
    async with asyncio.timeout(0):
        await asyncio.Event().wait()


@operation(runs_on=ANYWHERE, time_limit=1.0)
async def blocked(run: ToolRun) -> None:
    """Block in a call of the system."""
    run.print("the first part is done")
    threading.Event().wait()


@operation(runs_on=ANYWHERE, time_limit=None)
async def waiting(
    run: ToolRun,
    started: Annotated[str, Option("A file that receives the process id.", "FILE")],
    ended: Annotated[str | None, Option("A file that exists after a cancellation.", "FILE")] = None,
) -> None:
    """Print a line and wait until it is canceled."""
    run.print("started")
    Path(started).write_text(str(os.getpid()))
    try:
        await asyncio.Event().wait()
    finally:
        if ended is not None:
            Path(ended).touch()


@operation(runs_on=ANYWHERE, time_limit=1.0)
async def backtracking(run: ToolRun) -> None:
    """Match an expression that takes years, in one call that keeps the interpreter."""
    run.print("the first part is done")
    re.fullmatch("(a+)+b", "a" * 60)


@operation(runs_on=ANYWHERE, time_limit=None)
async def flooding(run: ToolRun) -> None:
    """Print for ever."""
    while True:
        run.print("x" * 10_000)


@operation(runs_on=ANYWHERE)
async def greedy(run: ToolRun) -> None:
    """Use a gigabyte of memory."""
    run.print(str(len(bytearray(1 << 30))))


@operation(runs_on=ANYWHERE)
async def dying(run: ToolRun, by: Annotated[int, Option("A signal.", "N")]) -> None:
    """Print a line and die of a signal."""
    run.print("the first part is done")
    os.kill(os.getpid(), by)


@operation(runs_on=ANYWHERE)
async def leaving(
    run: ToolRun, started: Annotated[str, Option("A file that receives the process id.", "FILE")]
) -> None:
    """Leave a process behind that keeps the output open."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(3600)")
    Path(started).write_text(str(child.pid))
    run.print("done")


@operation(runs_on=ANYWHERE)
async def greeting(
    run: ToolRun,
    name: Annotated[list[str], Option("Names.", "NAME", also=("--who",))] = [],
    times: Annotated[int, Option("How often.", "N")] = 1,
    loud: Annotated[bool, Option("With an exclamation mark.")] = False,
) -> None:
    """Greet."""
    if times < 1:
        raise InvalidArgument(f"--times: expected at least 1, found {times}")
    if "Echo" in name:
        raise ToolFailed("cannot greet an empty room")
    for _ in range(times):
        run.print(f"hello {' and '.join(name) or 'world'}{'!' if loud else ''}")


@operation(runs_on=ANYWHERE)
async def undeclared(run: ToolRun, name: str = "") -> None:
    """Take a parameter without its help."""
    run.print(name)


def not_a_tool() -> None:
    """Do nothing."""
