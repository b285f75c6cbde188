"""The tools that Admin requests run: Python objects registered by name, never commands of the operating system.

Each run has its own thread, so a slow tool delays only its caller. An exception of a tool becomes an exit status and a
line of output. Packages add tools through the entry-point group `kwire.tools`; a broken one is skipped.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import threading
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, runtime_checkable

from kwire.cluster.node.logs import logger
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.cluster.zookeeper.acls import CLUSTER_NAME
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUP = "kwire.tools"
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
class GuardedTool(Tool, Protocol):
    """A tool that requires another permission than to alter the cluster."""

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        """Return what a run with these arguments, which may be invalid, requires."""


class ToolRegistry:
    """The tools of one node, by name."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        built_in: tuple[Tool, ...] = (Help(), Status())
        for tool in (*built_in, *tools):
            self.register(tool)
        for point in entry_points(group=GROUP):
            self._register_plug_in(point)

    def _register_plug_in(self, point: EntryPoint) -> None:
        """Add the tool of a package. A broken one is logged and skipped, because it must not stop the node."""
        try:
            tool = point.load()()
            if not isinstance(tool, Tool):
                raise TypeError(f"{point.value} has no name, help, and run")
            self.register(tool)
        except Exception as error:
            log.exception("skipping a broken tool", tool=point.name, package=point.value, reason=repr(error))

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken.
        """
        if tool.name in self._tools:
            registered = type(self._tools[tool.name]).__qualname__
            raise ValueError(f"tool {tool.name!r} is already registered: {registered}")
        self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def names(self) -> list[str]:
        return sorted(self._tools)


class ToolRunner:
    """Runs tools, each on its own thread."""

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
            status, output = await self._run_on_thread(name, arguments)
        return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=status, output=output)

    async def _run_on_thread(self, name: str, arguments: Sequence[str]) -> tuple[int, bytes]:
        """Run a tool on a daemon thread. A thread pool would be joined at exit, and a tool may never return."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[tuple[int, bytes]] = loop.create_future()

        def set_result(status_and_output: tuple[int, bytes]) -> None:
            if not result.done():  # the caller may have been canceled
                result.set_result(status_and_output)

        def work() -> None:
            status_and_output = self._run(name, arguments)
            with suppress(RuntimeError):  # the event loop may be closed
                loop.call_soon_threadsafe(set_result, status_and_output)

        context = contextvars.copy_context()  # the client and the correlation id, for the log
        threading.Thread(target=context.run, args=(work,), name=f"tool {name}", daemon=True).start()
        return await result

    def _run(self, name: str, arguments: Sequence[str]) -> tuple[int, bytes]:
        output = io.StringIO()
        try:
            status = self._registry[name].run(arguments, self._context, output)
        except UsageError as error:
            status = 2
            output.write(f"{name}: {error}\n")
        except SystemExit as end:  # raised by argparse
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Exception as error:
            log.exception("tool failed", tool=name, arguments=list(arguments))
            status = 1
            output.write(f"{name}: {type(error).__name__}: {error}\n")
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
