"""Running a tool: on a thread of its own, with a time limit, and with every failure as an exit status and a sentence.

A tool has an event loop of its own, so one that blocks or raises affects only its caller. When the time is over, or the
caller is canceled, the tool is canceled; `kwire.supervised_thread` describes what happens to one that ignores that.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import KwireError
from kwire.extras import install_hint
from kwire.parameters import InvalidArgument
from kwire.supervised_thread import TimeLimitExceeded, run_on_thread
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


class ToolResult(NamedTuple):
    """What a tool has printed, and how it ended.

    Attributes:
        exit_status: 0 success, 1 failed, 2 invalid arguments, 3 the time was over.
        output: what it has printed; empty if the caller has received it already.
        error: why it failed, as one sentence; None after success.
        still_running: whether its time was over and it could not be ended.
    """

    exit_status: int
    output: str
    error: str | None = None
    still_running: bool = False


async def run_tool_words(
    tool: Tool,
    words: Sequence[str],
    environment: Environment = ANYWHERE,
    write: Callable[[str], None] | None = None,
    on_end: Callable[[], None] | None = None,
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
    return await run_tool(tool, values, environment, write, on_end)


async def run_tool(
    tool: Tool,
    values: Mapping[str, Any],
    environment: Environment = ANYWHERE,
    write: Callable[[str], None] | None = None,
    on_end: Callable[[], None] | None = None,
) -> ToolResult:
    """Run a tool, and return what it has printed. It raises nothing that the tool raises.

    Args:
        values: the values of parameters by name, also of the options that its needs add.
        environment: the cluster and the files that it may use.
        write: receives the output as it comes, in the thread of the tool.
        on_end: called in the thread of the tool when it has ended, which may be after its time was over.
    """
    output: list[str] = []

    try:
        checked = check_values(tool, values)
    except InvalidArgument as error:
        return ToolResult(USAGE, "", f"{tool.name}: {error}")
    given = checked.pop("time_limit")
    limit = tool.time_limit if given is None else given or None
    own = {each.name: checked[each.name] for each in tool.parameters}
    options = {name: value for name, value in checked.items() if name not in own}
    work = _CancelableRun(tool, ToolRun(environment, options, write or output.append), own)
    still_running = False
    try:
        await run_on_thread(work.run, name=f"tool {tool.name}", time_limit=limit, cancel=work.cancel, on_end=on_end)
    except TimeLimitExceeded as error:
        status, reason, still_running = TIMED_OUT, str(error), error.still_running
    except InvalidArgument as error:
        status, reason = USAGE, str(error)
    except BrokenPipeError:  # of `write`
        raise
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
    return ToolResult(status, "".join(output), f"{tool.name}: {reason}" if status else None, still_running)


class _CancelableRun:
    """Runs a tool in an event loop of the current thread; `cancel` may be called in any thread."""

    def __init__(self, tool: Tool, run: ToolRun, values: Mapping[str, Any]) -> None:
        self._tool = tool
        self._run = run
        self._values = values
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        try:
            await self._tool(self._run, **self._values)
        finally:
            await self._run.close()

    def cancel(self) -> None:
        """Cancel the tool, as soon as its event loop runs."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
