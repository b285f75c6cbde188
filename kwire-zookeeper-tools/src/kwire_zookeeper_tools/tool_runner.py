"""The runner of tools: arguments, a time limit, and every failure as an outcome.

`run_tool` returns an outcome instead of raising errors, which is the same in a command, in the process of a tool on a
node, and in the event loop of a node.

A tool runs in the event loop of its caller. When its time is over, it is canceled; if it does not wait for anything, it
ends when it prints. In a process on a node, it is killed if neither ends it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.products import install_hint
from kwire.errors import KwireError
from kwire_admin.operations.declaration import ToolFailed
from kwire_admin.operations.parameters import InvalidArgument
from kwire_zookeeper_tools.tool_run import NO_CLUSTER, ToolRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_admin.operations.declaration import Operation
    from kwire_zookeeper_tools.tool_run import Environment

__all__ = ["FAILED", "TIMED_OUT", "USAGE", "ToolRunResult", "run_in_time", "run_tool", "run_tool_words"]

FAILED, USAGE, TIMED_OUT = 1, 2, 3
"""Exit statuses of tools. 0 is success."""

LAST_LINES_S = 1.0
"""Seconds after its time limit in which a tool that is canceled can still print, such as what it has committed. Chosen,
not measured."""


class ToolRunResult(NamedTuple):
    """Output and end of a run of a tool.

    Attributes:
        exit_status: 0 success, 1 failed, 2 invalid arguments, 3 the time was over; a tool can have others.
        output: the printed text; empty if the caller has received it already.
        error: the reason of a failure, as one sentence; None after success.
        fault: the exception of a tool that has a bug, for a log; None otherwise.
    """

    exit_status: int
    output: str
    error: str | None = None
    fault: Exception | None = None


async def run_tool_words(
    tool: Operation,
    words: Sequence[str],
    environment: Environment = NO_CLUSTER,
    write: Callable[[str], None] | None = None,
) -> ToolRunResult:
    """Run a tool with the arguments of a command line. See `run_tool`."""
    from kwire_admin.operations.command_line import HelpRequested, parse_words, usage

    try:
        chosen, values = parse_words(tool, words)
    except HelpRequested:
        text = usage(tool)
        if write is None:
            return ToolRunResult(0, text)
        write(text)
        return ToolRunResult(0, "")
    except InvalidArgument as error:
        return ToolRunResult(USAGE, "", f"{tool.name}: {error}")
    return await run_tool(chosen, values, environment, write)


async def run_tool(
    tool: Operation,
    values: Mapping[str, Any],
    environment: Environment = NO_CLUSTER,
    write: Callable[[str], None] | None = None,
) -> ToolRunResult:
    """Run a tool, and return what it has printed. It raises nothing that the tool raises.

    Args:
        values: the values of parameters by name, also of the options that its needs add.
        environment: the cluster and the files that it may use.
        write: receives the output as it comes.

    Raises:
        BrokenPipeError: `write` raised it.
    """
    try:
        checked = check_values(tool, values)
    except InvalidArgument as error:
        return ToolRunResult(USAGE, "", f"{tool.name}: {error}")
    requested = checked.pop("time_limit", None)
    limit = tool.time_limit if requested is None else requested or None
    arguments = {parameter.name: checked.pop(parameter.name) for parameter in tool.parameters}

    def start(write_in_time: Callable[[str], None]) -> ToolRun:
        return ToolRun(environment, checked, write_in_time)

    return await run_in_time(tool.name, tool, start, arguments, limit, write)


async def run_in_time(
    name: str,
    tool: Operation,
    start: Callable[[Callable[[str], None]], ToolRun],
    arguments: Mapping[str, Any],
    limit: float | None,
    write: Callable[[str], None] | None = None,
) -> ToolRunResult:
    """Run a tool within a time limit. See `run_tool`.

    Args:
        name: the name of the tool in errors.
        start: makes the run, for a function that receives its output.
        arguments: the values of the parameters of the function.
        limit: the limit in seconds; None for no limit.
    """
    output: list[str] = []
    ends_at = None if limit is None else asyncio.get_running_loop().time() + limit
    fault: Exception | None = None

    def write_in_time(text: str) -> None:
        # A tool that never waits is not canceled, so it ends here.
        if ends_at is not None and _is_over(ends_at + LAST_LINES_S):
            raise TimeoutError
        (write or output.append)(text)

    try:
        async with asyncio.timeout_at(ends_at):
            await _run_and_close(tool, start(write_in_time), arguments)
    except InvalidArgument as error:
        status, reason = USAGE, str(error)
    except ToolFailed as error:
        status, reason = error.exit_status, str(error)
    except BrokenPipeError:  # of `write`
        raise
    except TimeoutError as error:  # raised by the limit, or by something that the tool has waited for
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
    except Exception as error:  # noqa: BLE001  # a bug of the tool must not end its caller
        status, reason, fault = FAILED, f"{type(error).__name__}: {error}", error
    else:
        status, reason = 0, ""
    return ToolRunResult(status, "".join(output), f"{name}: {reason}" if status else None, fault)


def _is_over(ends_at: float | None) -> bool:
    return ends_at is not None and asyncio.get_running_loop().time() >= ends_at


async def _run_and_close(tool: Operation, run: ToolRun, values: Mapping[str, Any]) -> None:
    try:
        await tool(run, **values)
    finally:
        await run.close()


def check_values(tool: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values that a program passes, with the defaults of the others.

    Raises:
        InvalidArgument: a parameter is unknown or missing.
    """
    parameters = {parameter.name: parameter for parameter in (*tool.parameters, *tool.common_parameters)}
    unknown = [name for name in values if name not in parameters]
    if unknown:
        raise InvalidArgument(f"unknown parameter {unknown[0]}: the parameters are {', '.join(parameters)}")
    missing = [name for name, parameter in parameters.items() if parameter.required and name not in values]
    if missing:
        raise InvalidArgument(f"parameter {missing[0]} is missing")
    return {name: values.get(name, parameter.default) for name, parameter in parameters.items()}
