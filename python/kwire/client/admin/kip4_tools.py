"""Tools of nodes that print JSON, run by Admin requests."""

from __future__ import annotations

import json

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.errors import AdminError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.backend import Backend

__all__ = ["tool_result"]


async def tool_result(
    backend: Backend,
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
    result = await backend.run_tool(tool, tuple(arguments), broker, reads=reads, repeatable=repeatable)
    if result.exit_status:
        text = result.output.strip().removeprefix(f"{tool}: ")
        raise AdminError.of_kip4(ErrorCode.ADMIN_REQUEST_FAILED, item, text)
    try:
        return json.loads(result.output)
    except ValueError:
        text = f"the output of the tool {tool} is not JSON, or longer than a node returns"
        raise AdminError.of_kip4(ErrorCode.ADMIN_REQUEST_FAILED, item, text) from None
