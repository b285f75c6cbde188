"""`kafka tools run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from kwire._util.similar_names import similar
from kwire.client.admin import AdminError
from kwire_admin.operations.command_line import check_words, danger_of_words, needs_given_cluster
from kwire_admin.operations.declaration import Failed, Failure, Operation, Rows, TimedOut, operation
from kwire_admin.operations.parameters import NODE, Argument, Danger, InvalidArgument, NotFound, Option, parse_node
from kwire_admin.operations.registry import BrokenTool, find_tool, tool_names
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_zookeeper_tools.tool_run import Environment
from kwire_zookeeper_tools.tool_runner import TIMED_OUT, USAGE, ToolRunResult, run_tool_words

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool.

    Attributes:
        name: the name of the tool.
        broker: the node that was asked to run it; None for any node, and for a run here.
        exit_status: 0 if the tool was successful; None if it was not run, in a dry run that cannot check it.
        output: printed text.
    """

    name: str
    broker: int | None
    exit_status: int | None
    output: str = field(metadata=column(unit="text"))


def _connects(arguments: Mapping[str, Any]) -> bool:
    """Return whether a tool works with the cluster of the command: on a node, or because it names no brokers itself."""
    if arguments["broker"] is not None:
        return True
    declared = _find(arguments["tool"])
    return declared is None or needs_given_cluster(declared, arguments["arguments"])


def _danger(arguments: Mapping[str, Any]) -> Danger:
    """Return what a run does. A node can have another tool of the same name."""
    declared = _find(arguments["tool"])
    if declared is None or arguments["broker"] is not None:
        return Danger.DESTROYS
    return danger_of_words(declared, arguments["arguments"])


@operation(
    Danger.DESTROYS,
    connects=_connects,
    dangers=_danger,
    ends_options=True,
    examples=(
        "tools run get-offset-shell --topic orders",
        "tools run dump-log-segments --help",
        "tools run --broker any status",
    ),
)
async def run(
    run: Run,
    tool: Annotated[str, Argument("The name of the tool.", "TOOL", "tools")],
    arguments: Annotated[list[str], Argument("The arguments of the tool.", "ARGUMENT")],
    broker: Annotated[
        str | None,
        Option("Run it on this node: an id, or `any` [default: run it locally, if installed].", "ID", syntax=NODE),
    ] = None,
) -> Rows[ToolOutput]:
    """Run a tool locally, or on a node of a KIP-4 cluster.

    On a node, the tool runs once: it is not repeated if the response is lost.
    """
    declared = _find(tool)
    node = None if broker is None else parse_node(broker)
    here = broker is None and declared is not None and run.here
    if declared is None and broker is None and not (run.has_cluster and run.admin.dialect == "kip4"):
        hint = similar(tool, tuple(tool_names()))
        suggested = f"did you mean {' or '.join(hint)}?" if hint else f"there are {', '.join(tool_names())}"
        raise NotFound(f"tool {tool} is not installed here: {suggested}")
    if declared is not None and here:
        check_words(declared, arguments)
    if run.dry_run and declared is not None and here and danger_of_words(declared, arguments) > Danger.READS:
        return await _validate(run, declared, arguments)
    if run.dry_run:
        where = "here" if here else "on a node, if it has the tool" if node is None else f"on node {node}, if it has it"
        return [ToolOutput(tool, node, None, f"{' '.join((tool, *arguments))} would be run {where}\n")]
    if declared is not None and danger_of_words(declared, arguments) is Danger.DESTROYS:
        run.confirm(f"Run {' '.join((tool, *arguments))}?{f' {declared.warning}' if declared.warning else ''}")
    if declared is not None and here:
        return await _run_here(run, declared, arguments)
    return await _run_on_node(run, tool, arguments, node)


def _find(name: str) -> Operation | None:
    try:
        return find_tool(name)
    except BrokenTool as error:
        raise InvalidArgument(str(error)) from error


async def _validate(run: Run, tool: Operation, arguments: list[str]) -> Rows[ToolOutput]:
    """Run a tool with a client that only validates its changes. Its output and exit status are those of a real run.

    Raises:
        Failed, InvalidArgument: see `_run_here`.
    """
    output: list[str] = []
    environment = Environment(open_admin=run.admin.open_another if run.has_cluster else None, is_dry_run=True)
    result = await run_tool_words(tool, arguments, environment, output.append)
    if result.error is not None and "a dry run is not supported" in result.error:
        run.warn(f"{result.error}: nothing was checked.")
        return [ToolOutput(tool.name, None, None, f"{' '.join((tool.name, *arguments))} would be run here\n")]
    if run.write is not None:
        run.write("".join(output))
    run.note("dry run: nothing was changed, and the output is the same as of a real run")
    return _rows(run, tool, result, "".join(output))


def _rows(run: Run, tool: Operation, result: ToolRunResult, output: str) -> Rows[ToolOutput]:
    """Return the row of a run.

    Raises:
        Failed: the tool has failed; TimedOut if it did not end in time.
        InvalidArgument: the arguments are invalid.
    """
    rows: Rows[ToolOutput] = [ToolOutput(tool.name, None, result.exit_status, "" if run.write is not None else output)]
    if result.error is None:
        return rows
    if result.exit_status == USAGE:
        raise InvalidArgument(result.error)
    raise (TimedOut if result.exit_status == TIMED_OUT else Failed)(rows, result.error)


async def _run_here(run: Run, tool: Operation, arguments: list[str]) -> Rows[ToolOutput]:
    if danger_of_words(tool, arguments) > Danger.READS:
        run.interruption = f"Interrupted: {tool.name} was ended, and its output says what it has done."
    environment = Environment(open_admin=run.admin.open_another if run.has_cluster else None)
    result = await run_tool_words(tool, arguments, environment, run.write)
    return _rows(run, tool, result, result.output)


async def _run_on_node(run: Run, tool: str, arguments: list[str], broker: int | None) -> Rows[ToolOutput]:
    try:
        result = await run.admin.run_tool(tool, arguments, broker_id=broker)
    except AdminError as error:
        return [Failure(tool, error)]
    row = ToolOutput(tool, broker, result.exit_status, result.output)
    if result.exit_status != 0:
        failed = TimedOut if result.exit_status == TIMED_OUT else Failed
        raise failed([row], f"tool {tool} ended with exit status {result.exit_status}")
    return [row]
