"""Tools with faults, as packages could install them."""

from __future__ import annotations

import threading
import time
from typing import Annotated

from kwire.tools import InvalidArgument, Option, ToolFailed, ToolRun, tool


def spin() -> None:
    """Never return."""
    while True:
        time.sleep(0.001)


@tool()
async def raising(run: ToolRun) -> None:
    """Print a line and raise."""
    run.print("the first part is done")
    raise LookupError("no such thing")


@tool(time_limit=1.0)
async def endless(run: ToolRun) -> None:
    """Print a line and never end."""
    run.print("the first part is done")
    spin()


@tool(time_limit=1.0)
async def blocked(run: ToolRun) -> None:
    """Wait for an event that never comes."""
    run.print("the first part is done")
    BLOCK.wait()


BLOCK = threading.Event()


@tool()
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


@tool()
async def undeclared(run: ToolRun, name: str = "") -> None:
    """Take a parameter without its help."""
    run.print(name)


def not_a_tool() -> None:
    """Do nothing."""
