"""Admin: run a tool on a broker (KAFKA-1694, generic message for tools and global configuration).

The draft describes the message without a layout and without an API key. kwire defines this layout and key 1006.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, field, int16, int32, maybe, string


class AdminRequest(Request["AdminResponse"], api_key=1006, versions="0", dialect="kip4"):
    """Runs a tool that is registered on the receiving broker. It cannot run commands of the operating system."""

    tool: string
    """The name of the tool, for example `config`. The response to an unknown name lists the known tools."""
    arguments: array[string] = field(sensitive=True)
    """The command line arguments of the tool. Those of `users` contain a credential."""


class AdminResponse(Message, api_key=1006, versions="0", dialect="kip4"):
    """The result of the tool."""

    error_code: int16
    """0 if the tool ran, whatever its exit status; 21 if it could not run."""
    error_description: maybe[string] = None
    """The reason why the tool could not run; None if it ran."""
    exit_status: int32
    """The exit status of the tool, 0 for success."""
    output: bytes
    """The UTF-8 output of the tool; bytes, because a string cannot exceed 32,767 bytes."""
