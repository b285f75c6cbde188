"""Operations on the nodes of a cluster, where Admin requests run them with the arguments and output of the command."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.authorization.requirement import Requirement
from kwire_admin.operations.command_line import HelpRequested, parse_words, usage
from kwire_admin.operations.declaration import Need, Place
from kwire_admin.operations.parameters import Address, Danger, FileNames, InvalidArgument
from kwire_admin.operations.registry import find_tools, names_of, operations_of
from kwire_cluster.node.logs import logger
from kwire_cluster.node.tool_process import ToolOutcome
from kwire_cluster.node.tools import ALTER, DESCRIBE, ToolPlan
from kwire_zookeeper_tools.tool_run import NodeRun
from kwire_zookeeper_tools.tool_runner import USAGE, run_in_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_admin.operations.declaration import Operation
    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import Caller

__all__ = ["OperationOnNode", "on_node"]

MAX_ARGUMENTS = 1_000
"""Maximum number of arguments, which click parses in 3 ms. The largest document of `config apply` that fits into a
request has about 500 parts."""
MAX_TIME_LIMIT_S = 1_000_000
"""Longest time limit in seconds, that is, 11 days."""

NODE_TOOLS = "kwire_zookeeper_tools.node_tools"
"""The package of the tools that only nodes run."""

log = logger(__name__)


class OperationOnNode:
    """An operation as a node runs it for a client.

    An operation that only nodes run works in the event loop of the node, and never blocks it. Any other one runs in a
    process of its own, as the user who asks for it, and each of its requests is authorized in addition.

    By default, a run requires permission to alter the cluster if it changes something, or uses files, ZooKeeper, or an
    address, which the node can reach and the client possibly cannot. Otherwise, it requires permission to describe it.
    """

    def __init__(self, operation: Operation, services: NodeServices) -> None:
        self._operation = operation
        self._services = services
        self.name = operation.name
        self.summary = operation.summary

    def plan(self, arguments: Sequence[str]) -> ToolPlan:
        """Return the plan of a run. Invalid arguments only explain the usage."""
        operation = self._operation
        try:
            if len(arguments) > MAX_ARGUMENTS:
                raise InvalidArgument(f"at most {MAX_ARGUMENTS:,} arguments are allowed, found {len(arguments):,}")
            chosen, values = parse_words(operation, arguments)
            requirements = _requirements(chosen, values)
            time_limit = _time_limit(chosen, values.get("time_limit"))
        except HelpRequested:
            return ToolPlan((Requirement(DESCRIBE),), ToolOutcome(0, usage(operation).encode(), None))
        except InvalidArgument as error:
            return ToolPlan((Requirement(DESCRIBE),), ToolOutcome(USAGE, b"", f"{self.name}: {error}"))
        if Place.CLIENT in operation.runs_on:
            reference = f"{operation.function.__module__}:{operation.function.__name__}"
            return ToolPlan(requirements, process=reference, time_limit=time_limit)
        may_wait = Need.ZOOKEEPER in chosen.needs
        return ToolPlan(requirements, run=partial(self._run, chosen, values), may_wait=may_wait)

    async def _run(self, chosen: Operation, values: Mapping[str, Any], caller: Caller) -> ToolOutcome:
        """Run an operation in the event loop of the node."""
        start = partial(NodeRun, self._services, caller)
        result = await run_in_time(self.name, chosen, start, values, chosen.time_limit)
        if result.fault is not None:
            log.error("tool failed", tool=self.name, exc_info=result.fault)  # without arguments, which may be secret
        return ToolOutcome(result.exit_status, result.output.encode("utf-8", errors="replace"), result.error)


def _requirements(operation: Operation, values: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return the permissions of a run. See OperationOnNode.

    Raises:
        InvalidArgument: see `Operation.requires`.
    """
    if operation.requires is not None:
        return tuple(operation.requires(values))
    reaches_out = any(
        isinstance(item, Path | FileNames | Address)
        for value in values.values()
        for item in (value if isinstance(value, list) else [value])
    )
    # In a process, a tool gets the address of ZooKeeper; in the event loop, it only does what it declares.
    has_process = Place.CLIENT in operation.runs_on
    reads_zookeeper = has_process and Need.ZOOKEEPER in operation.needs and Need.BROKERS not in operation.needs
    needs_alter = operation.danger_of(values) > Danger.READS or reaches_out or reads_zookeeper
    return (Requirement(ALTER if needs_alter else DESCRIBE),)


def _time_limit(operation: Operation, requested: float | None) -> float | None:
    """Return the seconds that a run may take, None for no limit, or raise InvalidArgument."""
    if requested is None:
        return operation.time_limit
    if not 0 <= requested <= MAX_TIME_LIMIT_S:
        raise InvalidArgument(f"--time-limit: expected 0 to {MAX_TIME_LIMIT_S}, found {requested}")
    return requested or None


def on_node(*others: Operation) -> Callable[[NodeServices], list[OperationOnNode]]:
    """Return the operations of a node, for `Node`: those of kwire, of installed packages, and others.

    A tool of a package that cannot be used is logged and skipped.
    """

    def of_node(services: NodeServices) -> list[OperationOnNode]:
        installed = find_tools(reserved=names_of(NODE_TOOLS))
        for broken in installed.broken:
            log.error("skipping a broken tool", tool=broken.name, package=broken.value, reason=broken.reason)
        operations = (*operations_of(NODE_TOOLS), *installed.tools.values(), *others)
        return [OperationOnNode(operation, services) for operation in operations if Place.NODE in operation.runs_on]

    return of_node
