"""The tools that Admin requests run, by name, never commands of the operating system.

The declarations of tools are in kwire-zookeeper-tools; a node gets them as `NodeTool`s. A tool either runs in the
event loop of the node, on its state and its session, or in a process of its own, as the user who asks for it
(`tool_process`, `tool_connections`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.acl_entries import CLUSTER_NAME
from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import shortened
from kwire_cluster.node.logs import logger
from kwire_cluster.node.tool_process import FAILED, MAX_OUTPUT, ToolOutcome, run_process

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from kwire.authorization.requirement import Requirement
    from kwire.authorization.subjects import Subject
    from kwire_cluster.node.listener.connection_limits import ConnectedClient
    from kwire_cluster.node.tool_connections import ToolConnections

MAX_PROCESSES = 4
"""Maximum number of processes of tools at a time; further runs wait. Chosen, not measured."""
MAX_WAITING_SECONDS = 60.0
"""Timeout in seconds for a process, after which a run fails instead of waiting for tools that never end."""
MAX_AT_ONCE = 16
"""Maximum number of runs in the event loop at a time. They never wait for processes. Chosen, not measured."""

DESCRIBE = Permission(AclOperation.DESCRIBE, "Cluster")
ALTER = Permission(AclOperation.ALTER, "Cluster")

log = logger(__name__)


class Caller(Protocol):
    """The user who runs a tool, as the context of the request knows it."""

    @property
    def subject(self) -> Subject:
        """The principal and the host."""

    @property
    def client_id(self) -> str | None:
        """The client id of the request."""

    @property
    def author(self) -> str:
        """The user as the audit names it."""

    @property
    def client(self) -> ConnectedClient | None:
        """The connection."""

    def allows(self, permission: Permission, name: str = CLUSTER_NAME) -> bool:
        """Return whether the user may perform an operation on the resource of this name."""


class ToolPlan(NamedTuple):
    """One run of a tool before it is authorized. Exactly one of `outcome`, `process`, and `run` is not None.

    Attributes:
        requirements: the permissions. All of them are required.
        outcome: the outcome of invalid arguments, or of `--help`.
        process: the module and the function of a tool that runs in a process, as in
            `kwire_zookeeper_tools.tools.topics:topics`.
        run: runs the tool in the event loop, for a caller.
        may_wait: True if `run` can wait for ZooKeeper or for other nodes.
        time_limit: time limit of the process in seconds; None for no limit.
    """

    requirements: tuple[Requirement, ...]
    outcome: ToolOutcome | None = None
    process: str | None = None
    run: Callable[[Caller], Awaitable[ToolOutcome]] | None = None
    may_wait: bool = True
    time_limit: float | None = None


class NodeTool(Protocol):
    """A tool that a node runs."""

    name: str
    summary: str
    """One line."""

    def plan(self, arguments: Sequence[str]) -> ToolPlan:
        """Return the plan of a run with these arguments, which may be invalid. It parses them, once."""


class ProcessRights(NamedTuple):
    """Rights of the process of a tool if its user can alter the cluster.

    Attributes:
        zookeeper: the address of ZooKeeper, without the credentials of the node.
        folders: the folders with the files that tools may use.
    """

    zookeeper: str
    folders: tuple[Path, ...]


class ToolRunner:
    """Runs tools: at most `MAX_AT_ONCE` in the event loop, and `MAX_PROCESSES` others at a time.

    Args:
        rights: see `ProcessRights`.
        open_connections: returns the connections of a run, as its user.
    """

    def __init__(self, rights: ProcessRights, open_connections: Callable[[Caller], ToolConnections]) -> None:
        self._tools: dict[str, NodeTool] = {}
        self._rights = rights
        self._open_connections = open_connections
        self._in_loop = asyncio.Semaphore(MAX_AT_ONCE)
        self._processes = asyncio.Semaphore(MAX_PROCESSES)
        self._running: set[asyncio.Task[ToolOutcome]] = set()

    def register(self, tools: Iterable[NodeTool]) -> None:
        """Add tools.

        Raises:
            ValueError: the name of a tool is taken.
        """
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools have the name {tool.name!r}")
            self._tools[tool.name] = tool

    def summaries(self) -> dict[str, str]:
        """Return the summaries of the tools by name, in alphabetical order."""
        return {name: self._tools[name].summary for name in sorted(self._tools)}

    def plan(self, name: str, arguments: Sequence[str]) -> ToolPlan | None:
        """Return the plan of a run; None for an unknown tool."""
        tool = self._tools.get(name)
        return None if tool is None else tool.plan(arguments)

    async def run(self, name: str, arguments: Sequence[str], plan: ToolPlan | None, caller: Caller) -> AdminResponse:
        """Run a tool that is authorized. For an unknown name, return ADMIN_REQUEST_FAILED with the list of tools."""
        if plan is None:
            return AdminResponse(
                error_code=ErrorCode.ADMIN_REQUEST_FAILED,
                error_description=shortened(
                    f"unknown tool {name[:100]!r}: the tools are {', '.join(self.summaries())}"
                ),
                exit_status=127,
                output=b"",
            )
        if plan.outcome is not None:
            outcome = plan.outcome
        elif plan.run is not None and plan.may_wait:
            async with self._in_loop:
                outcome = await plan.run(caller)
        elif plan.run is not None:  # such as `status`, which must answer while the others wait for ZooKeeper
            outcome = await plan.run(caller)
        else:
            outcome = await self._run_process(name, arguments, plan, caller)
        output = outcome.output
        if len(output) > MAX_OUTPUT:  # of tools in the event loop, such as lists of ACLs; processes are ended before
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

    async def _run_process(self, name: str, arguments: Sequence[str], plan: ToolPlan, caller: Caller) -> ToolOutcome:
        if caller.client is not None and caller.client.is_tool:
            return ToolOutcome(FAILED, b"", f"{name}: a tool cannot run another tool on a node")
        try:
            async with asyncio.timeout(MAX_WAITING_SECONDS):
                await self._processes.acquire()
        except TimeoutError:
            reason = f"{MAX_PROCESSES} tools are running on this node: try again later"
            return ToolOutcome(FAILED, b"", f"{name}: {reason}")
        task = asyncio.ensure_future(self._run_with_connections(name, arguments, plan, caller))
        self._running.add(task)
        try:
            return await task
        finally:
            self._running.discard(task)
            self._processes.release()

    async def _run_with_connections(
        self, name: str, arguments: Sequence[str], plan: ToolPlan, caller: Caller
    ) -> ToolOutcome:
        connections = self._open_connections(caller)
        host, port = connections.address
        may_alter = caller.allows(ALTER)
        job = {
            "tool": plan.process,
            "arguments": [*arguments],
            "bootstrap": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            "client_id": caller.client_id,
            "zookeeper": self._rights.zookeeper if may_alter else None,
            "folders": [str(folder) for folder in self._rights.folders] if may_alter else [],
        }
        try:
            return await run_process(name, job, connections.connect, plan.time_limit)
        finally:
            await connections.close()
