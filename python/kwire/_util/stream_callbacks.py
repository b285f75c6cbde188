"""Callbacks of a byte stream, in each event loop."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["StreamCallbacks"]


class StreamCallbacks(NamedTuple):
    """The functions that a stream calls.

    Attributes:
        on_made: called with the transport once the stream is open.
        buffer: returns the memory for received bytes.
        on_updated: called with the number of bytes that were received.
        on_paused: called when many bytes wait for the network.
        on_resumed: called when few bytes wait for the network again.
        on_lost: called with the error that ended the stream; None if one of both sides has closed it.
    """

    on_made: Callable[[Any], None]
    buffer: Callable[[], memoryview]
    on_updated: Callable[[int], None]
    on_paused: Callable[[], None]
    on_resumed: Callable[[], None]
    on_lost: Callable[[Exception | None], None]
