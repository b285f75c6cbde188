"""Tools of nodes, run by Admin requests of the drafts of KIP-4."""

from __future__ import annotations

import json
from functools import partial

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.targets import ANY, BrokerTarget
from kwire.client.admin.values import ToolResult
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.session import AdminSession


async def run_tool(
    admin: AdminSession,
    name: str,
    arguments: Sequence[str],
    *,
    broker: int | None = None,
    reads: bool = False,
    repeatable: bool = False,
) -> ToolResult:
    """Run a tool, and return its exit status and what it prints. See `tool_result` for the arguments.

    Raises:
        AdminError: the node has no such tool.
        NotSupported: the cluster is Kafka.
    """
    if admin.dialect == "kafka":
        raise NotSupported(f"running {name} on a broker", "Apache Kafka has no message for it")
    from kwire.messages.kip4.admin import AdminRequest

    request = AdminRequest(tool=name, arguments=tuple(arguments))
    send = admin.router.read if reads else partial(admin.router.command, repeatable=repeatable)
    answer = await send(request, ANY if broker is None else BrokerTarget(broker))
    response = answer.response
    if response.error_code != ErrorCode.NO_ERROR:
        raise AdminError.of_kip4(response.error_code, name, response.error_description, answer.attempts)
    return ToolResult(response.exit_status, response.output.decode("utf-8", errors="replace"))


async def tool_result(
    admin: AdminSession,
    tool: str,
    arguments: Sequence[str],
    item: str,
    *,
    broker: int | None = None,
    reads: bool = False,
    repeatable: bool = False,
) -> Any:
    """Run a tool, and return what it prints.

    Args:
        item: the subject of an error; empty for the whole request.
        broker: the node; None for any.
        reads: True if the run changes nothing; it is then repeated after a lost response.
        repeatable: True if a second run has the effect and the output of the first one; it is then repeated as well.

    Raises:
        AdminError: the tool failed; the text is what it printed. Or its output was too long for a response.
    """
    result = await run_tool(admin, tool, arguments, broker=broker, reads=reads, repeatable=repeatable)
    if result.exit_status:
        text = result.output.strip().removeprefix(f"{tool}: ")
        raise AdminError.of_kip4(ErrorCode.ADMIN_REQUEST_FAILED, item, text)
    try:
        return json.loads(result.output)
    except ValueError:
        text = f"the output of the tool {tool} is not JSON, or longer than a node returns"
        raise AdminError.of_kip4(ErrorCode.ADMIN_REQUEST_FAILED, item, text) from None
