"""A picture on the terminal that is drawn again and again, until Ctrl-C."""

from __future__ import annotations

import io
import os
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Screen"]

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""Shows the other buffer of the terminal, hides the cursor, and cuts off long lines."""
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"

T = TypeVar("T")


class Screen:
    """Shows a picture in the other buffer of a terminal, and leaves the last one behind. Ctrl-C ends it.

    Args:
        terminal: the stream of the terminal.
        seconds: the time between two pictures.
        title: the text above the picture.
    """

    def __init__(self, terminal: TextIO, seconds: float, title: str) -> None:
        self._terminal = terminal
        self._seconds = seconds
        self._title = title
        self._last = ""
        self._next = 0.0

    def __enter__(self) -> Self:
        self._terminal.write(ENTER)
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._terminal.write(f"{LEAVE}{self._last}")
        self._terminal.flush()
        return isinstance(error, KeyboardInterrupt)

    def draw(self, function: Callable[[], T]) -> T:
        """Show what a function prints, and return its result."""
        self._next = time.monotonic() + self._seconds
        picture = _Picture()
        with redirect_stdout(picture), redirect_stderr(picture):
            result = function()
        self._last = picture.getvalue()
        head = f"{self._title}   {time.strftime('%H:%M:%S')}   every {self._seconds:g} s, Ctrl-C ends"
        rows = os.get_terminal_size(self._terminal.fileno()).lines - 1
        lines = [head, "", *self._last.removesuffix("\n").split("\n")]
        if len(lines) > rows:
            lines[rows - 1 :] = [f"... {len(lines) - rows + 1} more lines"]
        shown = "".join(f"{line}{REST_OF_LINE}\r\n" for line in lines)
        self._terminal.write(f"{HOME}{shown}{REST_OF_SCREEN}")
        self._terminal.flush()
        return result

    def wait(self) -> None:
        """Wait until the next picture is due."""
        time.sleep(max(self._next - time.monotonic(), 0.0))


class _Picture(io.StringIO):
    """Text that is printed as on a terminal."""

    def isatty(self) -> bool:
        return True
