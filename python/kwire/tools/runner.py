"""Running a tool: with a time limit, and with every failure as an exit status and a sentence.

A tool runs in the event loop of its caller. When its time is over, it is canceled; if it does not wait for anything, it
ends when it prints. On a node, it runs in a process of its own, which is killed if neither ends it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import KwireError
from kwire.extras import install_hint
from kwire.parameters import InvalidArgument
from kwire.tools.command_line import HelpRequested, check_values, parse_words, usage
from kwire.tools.environment import ANYWHERE, Environment
from kwire.tools.tool_run import ToolRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.tools.tool import Tool

__all__ = ["FAILED", "TIMED_OUT", "USAGE", "ToolResult", "run_tool", "run_tool_words"]

log = logging.getLogger("kwire.tools")

FAILED, USAGE, TIMED_OUT = 1, 2, 3
"""Exit statuses. 0 is success."""


LAST_LINES_S = 1.0
"""Seconds after its time limit in which a tool that is canceled can still print, such as what it has committed. Chosen,
not measured."""


class ToolResult(NamedTuple):
    """What a tool has printed, and how it ended.

    Attributes:
        exit_status: 0 success, 1 failed, 2 invalid arguments, 3 the time was over.
        output: what it has printed; empty if the caller has received it already.
        error: why it failed, as one sentence; None after success.
    """

    exit_status: int
    output: str
    error: str | None = None


async def run_tool_words(
    tool: Tool,
    words: Sequence[str],
    environment: Environment = ANYWHERE,
    write: Callable[[str], None] | None = None,
) -> ToolResult:
    """Run a tool with the arguments of a command line. See `run_tool`."""
    try:
        values = parse_words(tool, words)
    except HelpRequested:
        text = usage(tool)
        if write is None:
            return ToolResult(0, text)
        write(text)
        return ToolResult(0, "")
    except InvalidArgument as error:
        return ToolResult(USAGE, "", f"{tool.name}: {error}")
    return await run_tool(tool, values, environment, write)


async def run_tool(
    tool: Tool,
    values: Mapping[str, Any],
    environment: Environment = ANYWHERE,
    write: Callable[[str], None] | None = None,
) -> ToolResult:
    """Run a tool, and return what it has printed. It raises nothing that the tool raises.

    Args:
        values: the values of parameters by name, also of the options that its needs add.
        environment: the cluster and the files that it may use.
        write: receives the output as it comes.

    Raises:
        BrokenPipeError: that of `write`.
    """
    try:
        checked = check_values(tool, values)
    except InvalidArgument as error:
        return ToolResult(USAGE, "", f"{tool.name}: {error}")
    requested = checked.pop("time_limit")
    limit = tool.time_limit if requested is None else requested or None
    own = {parameter.name: checked[parameter.name] for parameter in tool.parameters}
    options = {name: value for name, value in checked.items() if name not in own}
    output: list[str] = []
    ends_at = None if limit is None else asyncio.get_running_loop().time() + limit

    def write_in_time(text: str) -> None:
        # A tool that never waits is not canceled, so it ends here.
        if ends_at is not None and _is_over(ends_at + LAST_LINES_S):
            raise TimeoutError
        (write or output.append)(text)

    try:
        async with asyncio.timeout_at(ends_at):
            await _run_and_close(tool, ToolRun(environment, options, write_in_time), own)
    except InvalidArgument as error:
        status, reason = USAGE, str(error)
    except BrokenPipeError:  # of `write`
        raise
    except TimeoutError as error:  # that of the tool, or of something that it has waited for
        is_over = _is_over(ends_at)
        status = TIMED_OUT if is_over else FAILED
        reason = f"it did not finish within {limit:g} s and was ended" if is_over else str(error) or "TimeoutError"
    except (KwireError, OSError) as error:
        status, reason = FAILED, str(error) or type(error).__name__
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        reason = f"it ended with exit status {status}"
    except MemoryError:
        status, reason = FAILED, "it needs too much memory"
    except ModuleNotFoundError as error:
        status, reason = FAILED, install_hint(error) or str(error)
    except Exception as error:
        log.debug("tool %s failed", tool.name, exc_info=True)
        status, reason = FAILED, f"{type(error).__name__}: {error}"
    else:
        status, reason = 0, ""
    return ToolResult(status, "".join(output), f"{tool.name}: {reason}" if status else None)


def _is_over(ends_at: float | None) -> bool:
    return ends_at is not None and asyncio.get_running_loop().time() >= ends_at


async def _run_and_close(tool: Tool, run: ToolRun, values: Mapping[str, Any]) -> None:
    try:
        await tool(run, **values)
    finally:
        await run.close()
