"""Admin: run a command line tool on a broker (KAFKA-1694's generic message for tools and global configuration).

The draft describes the message and shows no layout; this one is decision D13, key 1006 decision D3.
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, int16, int32, maybe, string


class AdminRequest(Request["AdminResponse"], api_key=1006, versions="0", dialect="kip4"):
    """Asks any broker to run a tool that is registered there; it is never a command of the operating system."""

    tool: string
    """Which tool, such as ``config``; the answer to an unknown one lists those that are known."""
    arguments: array[string]
    """What would follow the tool's name on a command line, a word each."""


class AdminResponse(Message, api_key=1006, versions="0", dialect="kip4"):
    """How the tool ended and what it printed."""

    error_code: int16
    """0 when the tool ran, however it ended; 21 when it could not be run."""
    error_description: maybe[string] = None
    """Why it could not be run, with the known tools where the name was unknown; None when it ran."""
    exit_status: int32
    """What the tool would have given back to a shell: 0 for success."""
    output: bytes
    """What the tool printed, UTF-8; bytes, because a string of the protocol ends at 32767."""
