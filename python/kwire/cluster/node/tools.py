"""The tools that the generic Admin message runs: registered Python objects by name, never commands of the system.

Rules of this file: a tool runs on a worker of its own, so that a slow one keeps nobody waiting but who asked for it;
what it prints comes back as bytes; what it raises is an exit status and a line, never the end of the node.
A package adds tools through the entry-point group ``kwire.tools``.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import threading
from contextlib import suppress
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO, runtime_checkable

from kwire.cluster.node.logs import logger
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP = "kwire.tools"
WORKERS = 4
"""Tools that run at one time; more wait."""
LARGEST_OUTPUT = 16 * 1024 * 1024
"""Bytes of a tool's output that are sent back; what is beyond is cut, and the last line says so."""

log = logger(__name__)


class UsageError(Exception):
    """A tool was called with arguments that it does not take: exit status 2, and this text."""


class Surroundings(NamedTuple):
    """What a tool may look at. ``facts()`` of the node: a JSON document about it, as the tool ``status`` prints it."""

    node_id: int
    registry: ToolRegistry
    facts: FactsSource


class FactsSource(Protocol):
    def __call__(self) -> dict[str, object]: ...


@runtime_checkable
class Tool(Protocol):
    """A tool. ``run`` writes to ``output`` and returns what a shell would get: 0 for success."""

    name: str
    help: str
    """One line."""

    def run(self, arguments: Sequence[str], surroundings: Surroundings, output: TextIO) -> int: ...


class ToolRegistry:
    """The tools of one node, by name."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        built_in: tuple[Tool, ...] = (Help(), Status())
        for tool in (*built_in, *tools):
            self.register(tool)
        for point in entry_points(group=GROUP):
            self.register(point.load()())

    def register(self, tool: Tool) -> None:
        """Raises ValueError for a name that is taken."""
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already: {type(self._tools[tool.name]).__qualname__}")
        self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def names(self) -> list[str]:
        return sorted(self._tools)


class ToolRunner:
    """Runs tools on threads of its own."""

    def __init__(self, registry: ToolRegistry, surroundings: Surroundings) -> None:
        self.registry = registry
        self._surroundings = surroundings
        self._room = asyncio.Semaphore(WORKERS)

    async def run(self, name: str, arguments: Sequence[str]) -> AdminResponse:
        """Run a tool; an unknown one is ADMIN_REQUEST_FAILED with the list of those that there are."""
        if name not in self.registry:
            return AdminResponse(
                error_code=ErrorCode.ADMIN_REQUEST_FAILED,
                error_description=f"There is no tool {name!r} here; there are: {', '.join(self.registry.names())}",
                exit_status=127,
                output=b"",
            )
        async with self._room:
            status, output = await self._on_a_thread(name, arguments)
        return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=status, output=output)

    async def _on_a_thread(self, name: str, arguments: Sequence[str]) -> tuple[int, bytes]:
        """A thread of its own: those of a pool are waited for when the process ends, and a tool may never end."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[int, bytes]] = loop.create_future()

        def tell(result: tuple[int, bytes]) -> None:
            if not ended.done():  # else nobody waits any more
                ended.set_result(result)

        def work() -> None:
            result = self._run(name, arguments)
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(tell, result)

        context = contextvars.copy_context()  # for the log: who asked
        threading.Thread(target=context.run, args=(work,), name=f"tool {name}", daemon=True).start()
        return await ended

    def _run(self, name: str, arguments: Sequence[str]) -> tuple[int, bytes]:
        output = io.StringIO()
        try:
            status = self.registry[name].run(arguments, self._surroundings, output)
        except UsageError as error:
            status = 2
            output.write(f"{name}: {error}\n")
        except SystemExit as end:  # as programs end that read their arguments with argparse
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except Exception as error:
            log.exception("a tool failed", tool=name, arguments=list(arguments))
            status = 1
            output.write(f"{name}: {type(error).__name__}: {error}\n")
        written = output.getvalue().encode("utf-8", errors="replace")
        if len(written) > LARGEST_OUTPUT:
            written = written[:LARGEST_OUTPUT] + b"\n... cut here: the output was larger than may be sent\n"
        return status, written


class Help:
    """Lists the tools."""

    name = "help"
    help = "list the tools that this node runs"

    def run(self, arguments: Sequence[str], surroundings: Surroundings, output: TextIO) -> int:
        if arguments:
            raise UsageError("it takes no arguments")
        registry = surroundings.registry
        output.writelines(f"{name}\t{registry[name].help}\n" for name in registry.names())
        return 0


class Status:
    """Tells what the node knows about itself."""

    name = "status"
    help = "what this node knows about itself and the cluster, as JSON"

    def run(self, arguments: Sequence[str], surroundings: Surroundings, output: TextIO) -> int:
        import json

        if arguments:
            raise UsageError("it takes no arguments")
        json.dump(surroundings.facts(), output, indent=2)
        output.write("\n")
        return 0
