"""The tools that Admin requests run, by name, never commands of the operating system.

A node has a few tools of its own (`AsyncTool`), which run in its event loop on its state and its session. All others
(`ProcessTool`) run in a process of their own, as the user who asks for them (`tool_process`, `tool_connections`).
`kwire.tools` adds the tools that nodes share with the command.
"""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, runtime_checkable

from kwire.cluster.node.logs import logger
from kwire.cluster.node.tool_process import FAILED, MAX_OUTPUT, ToolOutcome, run_process
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.cluster.zookeeper.acls import CLUSTER_NAME
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kwire.cluster.node.listener.connection_limits import ConnectedClient
    from kwire.cluster.node.tool_connections import ToolConnections
    from kwire.cluster.security.subjects import Subject

MAX_PROCESSES = 4
"""Maximum number of processes of tools at a time; further runs wait. Chosen, not measured."""
MAX_WAITING_SECONDS = 60.0
"""Timeout in seconds for a process, after which a run fails instead of waiting for tools that never end."""
MAX_AT_ONCE = 16
"""Maximum number of runs of the node's own tools at a time. They never wait for processes. Chosen, not measured."""

DESCRIBE = Permission(AclOperation.DESCRIBE, "Cluster")
ALTER = Permission(AclOperation.ALTER, "Cluster")

log = logger(__name__)


class UsageError(Exception):
    """Invalid arguments of a tool: exit status 2, with this text."""


class Caller(Protocol):
    """The user who runs a tool, as the context of the request knows it."""

    @property
    def subject(self) -> Subject:
        """The principal and the host."""

    @property
    def client_id(self) -> str | None:
        """The client id of the request."""

    @property
    def client(self) -> ConnectedClient | None:
        """The connection."""

    def allows(self, permission: Permission, name: str = CLUSTER_NAME) -> bool:
        """Return whether the user may perform an operation on the resource of this name."""


class ToolContext(NamedTuple):
    """Parts of the node that a tool can use.

    Attributes:
        caller: the user who runs it.
        registry: the tools.
        status: returns the state of the node, as the tool `status` prints it.
    """

    caller: Caller
    registry: ToolRegistry
    status: Callable[[], dict[str, object]]


class Requirement(NamedTuple):
    """The permission that a run of a tool requires.

    Attributes:
        permission: the operation, and the type of the resource.
        name: the name of the resource.
    """

    permission: Permission
    name: str = CLUSTER_NAME


class AsyncTool(Protocol):
    """A tool that runs in the event loop of the node, and never blocks it."""

    name: str
    help: str
    """One line."""

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        """Return what a run with these arguments, which may be invalid, requires. All of it is required."""

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run the tool, write to `output`, and return the exit status: 0 for success."""


class ProcessPlan(NamedTuple):
    """Requirements of a run of a tool.

    Attributes:
        requirements: the permissions. All of them are required.
        outcome: the outcome of invalid arguments, or of `--help`; None if a process has to run.
        time_limit: seconds that the process may take; None for no limit.
    """

    requirements: tuple[Requirement, ...]
    outcome: ToolOutcome | None = None
    time_limit: float | None = None


@runtime_checkable
class ProcessTool(Protocol):
    """A tool that runs in a process of its own."""

    name: str
    help: str
    """One line."""
    reference: str
    """The module and the function that declare it, as in `kwire.tools.own.topics:topics`."""

    def plan(self, arguments: Sequence[str]) -> ProcessPlan:
        """Return what a run with these arguments needs. It parses them, once."""


class ToolRegistry:
    """The tools of one node, by name."""

    def __init__(self, tools: Sequence[AsyncTool | ProcessTool] = ()) -> None:
        self._tools: dict[str, AsyncTool | ProcessTool] = {}
        built_in: tuple[AsyncTool, ...] = (Help(), Status())
        for tool in (*built_in, *tools):
            self.register(tool)

    def register(self, tool: AsyncTool | ProcessTool) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken.
        """
        if tool.name in self._tools:
            registered = type(self._tools[tool.name]).__qualname__
            raise ValueError(f"tool {tool.name!r} is already registered: {registered}")
        self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> AsyncTool | ProcessTool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def names(self) -> list[str]:
        return sorted(self._tools)


class PlannedRun(NamedTuple):
    """A run of a tool that is not authorized yet.

    Attributes:
        name: the name in the request.
        arguments: those of the request.
        requirements: the permissions. All of them are required.
        process: the plan of a tool that runs in a process.
    """

    name: str
    arguments: Sequence[str]
    requirements: Sequence[Requirement]
    process: ProcessPlan | None = None


class ProcessRights(NamedTuple):
    """Rights of the process of a tool if its user can alter the cluster.

    Attributes:
        zookeeper: the address of ZooKeeper, without the credentials of the node.
        folders: the folders with the files that tools may use.
    """

    zookeeper: str
    folders: tuple[Path, ...]


class ToolRunner:
    """Runs tools: those of the node at once, at most `MAX_PROCESSES` others at a time.

    Args:
        open_connections: returns the connections of a run, as its user.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        status: Callable[[], dict[str, object]],
        rights: ProcessRights,
        open_connections: Callable[[Caller], ToolConnections],
    ) -> None:
        self._registry = registry
        self._status = status
        self._rights = rights
        self._open_connections = open_connections
        self._own = asyncio.Semaphore(MAX_AT_ONCE)
        self._processes = asyncio.Semaphore(MAX_PROCESSES)
        self._running: set[asyncio.Task[ToolOutcome]] = set()

    def plan(self, name: str, arguments: Sequence[str]) -> PlannedRun:
        """Return what a run of a tool requires; for an unknown tool, to alter the cluster."""
        if name not in self._registry:
            return PlannedRun(name, arguments, (Requirement(ALTER),))
        tool = self._registry[name]
        if isinstance(tool, ProcessTool):
            process = tool.plan(arguments)
            return PlannedRun(name, arguments, process.requirements, process)
        return PlannedRun(name, arguments, tool.requirements(arguments))

    async def run(self, planned: PlannedRun, caller: Caller) -> AdminResponse:
        """Run a tool that is authorized. For an unknown name, return ADMIN_REQUEST_FAILED with the list of tools."""
        name, arguments = planned.name, planned.arguments
        if name not in self._registry:
            return AdminResponse(
                error_code=ErrorCode.ADMIN_REQUEST_FAILED,
                error_description=shortened(
                    f"unknown tool {name[:100]!r}: the tools are {', '.join(self._registry.names())}"
                ),
                exit_status=127,
                output=b"",
            )
        tool = self._registry[name]
        if isinstance(tool, ProcessTool):
            assert planned.process is not None
            outcome = planned.process.outcome or await self._run_process(tool, planned, caller)
        elif isinstance(tool, Help | Status):  # from memory: they never wait
            outcome = await self._run_own(tool, arguments, caller)
        else:
            async with self._own:
                outcome = await self._run_own(tool, arguments, caller)
        output = outcome.output
        if len(output) > MAX_OUTPUT:  # tools of the node, such as lists of ACLs; processes are ended before
            output = output[:MAX_OUTPUT] + b"\n... truncated: the output exceeds the limit\n"
        if outcome.error is not None:
            log.warning("tool failed", tool=name, exit_status=outcome.exit_status)  # the reason may quote a secret
            output += f"{outcome.error}\n".encode(errors="replace")
        return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=outcome.exit_status, output=output)

    async def stop(self) -> None:
        """End the processes, and wait until they have ended."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run_process(self, tool: ProcessTool, planned: PlannedRun, caller: Caller) -> ToolOutcome:
        if caller.client is not None and caller.client.is_tool:
            return ToolOutcome(FAILED, b"", f"{tool.name}: a tool cannot run another tool on a node")
        try:
            async with asyncio.timeout(MAX_WAITING_SECONDS):
                await self._processes.acquire()
        except TimeoutError:
            reason = f"{MAX_PROCESSES} tools are running on this node: try again later"
            return ToolOutcome(FAILED, b"", f"{tool.name}: {reason}")
        task = asyncio.ensure_future(self._run_with_connections(tool, planned, caller))
        self._running.add(task)
        try:
            return await task
        finally:
            self._running.discard(task)
            self._processes.release()

    async def _run_with_connections(self, tool: ProcessTool, planned: PlannedRun, caller: Caller) -> ToolOutcome:
        assert planned.process is not None
        connections = self._open_connections(caller)
        host, port = connections.address
        may_alter = caller.allows(ALTER)
        job = {
            "tool": tool.reference,
            "arguments": [*planned.arguments],
            "bootstrap": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "client_id": caller.client_id,
            "zookeeper": self._rights.zookeeper if may_alter else None,
            "folders": [str(folder) for folder in self._rights.folders] if may_alter else [],
        }
        try:
            return await run_process(tool.name, job, connections.connect, planned.process.time_limit)
        finally:
            await connections.close()

    async def _run_own(self, tool: AsyncTool, arguments: Sequence[str], caller: Caller) -> ToolOutcome:
        output = io.StringIO()
        error: str | None = None
        try:
            status = await tool.run(arguments, ToolContext(caller, self._registry, self._status), output)
        except UsageError as invalid:
            status, error = 2, f"{tool.name}: {invalid}"
        except Exception as fault:
            log.exception("tool failed", tool=tool.name)  # arguments may be secret
            status, error = FAILED, f"{tool.name}: {type(fault).__name__}: {fault}"
        return ToolOutcome(status, output.getvalue().encode("utf-8", errors="replace"), error)


class Help:
    """Lists the tools."""

    name = "help"
    help = "list the tools that this node runs"

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        del arguments
        return (Requirement(DESCRIBE),)

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        if arguments:
            raise UsageError("expected no arguments")
        registry = context.registry
        output.writelines(f"{name}\t{registry[name].help}\n" for name in registry.names())
        return 0


class Status:
    """Prints the state of the node."""

    name = "status"
    help = "print the state of this node and of its metadata cache as JSON"

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        del arguments
        return (Requirement(DESCRIBE),)

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        import json

        if arguments:
            raise UsageError("expected no arguments")
        json.dump(context.status(), output, indent=2)
        output.write("\n")
        return 0
