"""The tools that Admin requests run: Python objects registered by name, never commands of the operating system.

Each run has its own thread, so a slow tool delays only its caller. An exception of a tool becomes an exit status and a
line of output. `kwire.tools` adds those that a node has in common with the command.
"""

from __future__ import annotations

import asyncio
import io
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, runtime_checkable

from kwire.cluster.node.logs import logger
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.cluster.zookeeper.acls import CLUSTER_NAME
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import shortened
from kwire.supervised_thread import run_on_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from kwire.client.admin import AdminClient
    from kwire.cluster.zookeeper import Store

MAX_RUNNING = 4
"""Tools that run at a time; further ones wait."""
MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes of output that are sent back; the rest is cut off, and the last line says so."""

DESCRIBE = Permission(AclOperation.DESCRIBE, "Cluster")
ALTER = Permission(AclOperation.ALTER, "Cluster")

log = logger(__name__)


class UsageError(Exception):
    """Invalid arguments of a tool: exit status 2, with this text."""


class ToolContext(NamedTuple):
    """What a tool may use."""

    node_id: int
    registry: ToolRegistry
    status: Callable[[], dict[str, object]]
    """Returns the state of the node, as the tool `status` prints it."""
    open_admin: Callable[[], Awaitable[AdminClient]] | None = None
    """Opens a client of the cluster, as the node."""
    open_zookeeper: Callable[[], Awaitable[Store]] | None = None
    """Opens a session with the ZooKeeper of the cluster, as the node."""
    folders: tuple[Path, ...] = ()
    """The folders with the files that tools may use."""


class Requirement(NamedTuple):
    """The permission that a run of a tool requires."""

    permission: Permission
    name: str = CLUSTER_NAME
    """The name of the resource."""


@runtime_checkable
class Tool(Protocol):
    """A tool."""

    name: str
    help: str
    """One line."""

    def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run the tool, write to `output`, and return the exit status: 0 for success."""


@runtime_checkable
class AsyncTool(Protocol):
    """A tool that runs in the event loop of the node, and never blocks it."""

    name: str
    help: str
    """One line."""

    async def run_async(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run the tool, write to `output`, and return the exit status: 0 for success."""


@runtime_checkable
class GuardedTool(Protocol):
    """A tool that requires another permission than to alter the cluster."""

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        """Return what a run with these arguments, which may be invalid, requires."""


class ToolRegistry:
    """The tools of one node, by name."""

    def __init__(self, tools: Sequence[Tool | AsyncTool] = ()) -> None:
        self._tools: dict[str, Tool | AsyncTool] = {}
        built_in: tuple[Tool, ...] = (Help(), Status())
        for tool in (*built_in, *tools):
            self.register(tool)

    def register(self, tool: Tool | AsyncTool) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken.
        """
        if tool.name in self._tools:
            registered = type(self._tools[tool.name]).__qualname__
            raise ValueError(f"tool {tool.name!r} is already registered: {registered}")
        self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool | AsyncTool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def names(self) -> list[str]:
        return sorted(self._tools)


class ToolRunner:
    """Runs tools, each on its own thread, at most `MAX_RUNNING` at a time."""

    def __init__(self, context: ToolContext) -> None:
        self._registry = context.registry
        self._context = context
        self._slots = asyncio.Semaphore(MAX_RUNNING)

    def requirement(self, name: str, arguments: Sequence[str]) -> Requirement:
        """Return what a run of a tool requires: by default, and for an unknown tool, to alter the cluster."""
        if name not in self._registry:
            return Requirement(ALTER)
        tool = self._registry[name]
        return tool.requirement(arguments) if isinstance(tool, GuardedTool) else Requirement(ALTER)

    async def run(self, name: str, arguments: Sequence[str]) -> AdminResponse:
        """Run a tool. For an unknown name, return ADMIN_REQUEST_FAILED with the list of tools."""
        if name not in self._registry:
            return AdminResponse(
                error_code=ErrorCode.ADMIN_REQUEST_FAILED,
                error_description=shortened(
                    f"unknown tool {name[:100]!r}: the tools are {', '.join(self._registry.names())}"
                ),
                exit_status=127,
                output=b"",
            )
        async with self._slots:
            status, output = await self._run(self._registry[name], arguments)
        return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=status, output=output)

    async def _run(self, tool: Tool | AsyncTool, arguments: Sequence[str]) -> tuple[int, bytes]:
        output = io.StringIO()
        try:
            if isinstance(tool, AsyncTool):
                status = await tool.run_async(arguments, self._context, output)
            else:  # on a daemon thread: a thread pool would be joined at exit, and a tool may never return
                run = partial(tool.run, arguments, self._context, output)
                status = await run_on_thread(run, name=f"tool {tool.name}")
        except UsageError as error:
            status = 2
            output.write(f"{tool.name}: {error}\n")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Exception as error:
            log.exception("tool failed", tool=tool.name)  # arguments may be secret
            status = 1
            output.write(f"{tool.name}: {type(error).__name__}: {error}\n")
        written = output.getvalue().encode("utf-8", errors="replace")
        if len(written) > MAX_OUTPUT:
            written = written[:MAX_OUTPUT] + b"\n... truncated: the output exceeds the limit\n"
        return status, written


class Help:
    """Lists the tools."""

    name = "help"
    help = "list the tools that this node runs"

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        del arguments
        return Requirement(DESCRIBE)

    def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        if arguments:
            raise UsageError("expected no arguments")
        registry = context.registry
        output.writelines(f"{name}\t{registry[name].help}\n" for name in registry.names())
        return 0


class Status:
    """Prints the state of the node."""

    name = "status"
    help = "print the state of this node and of its metadata cache as JSON"

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        del arguments
        return Requirement(DESCRIBE)

    def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        import json

        if arguments:
            raise UsageError("expected no arguments")
        json.dump(context.status(), output, indent=2)
        output.write("\n")
        return 0
