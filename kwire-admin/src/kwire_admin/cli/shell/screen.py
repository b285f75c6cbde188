"""A picture on the terminal that is drawn again and again, until Ctrl-C."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stderr, redirect_stdout

from rich.console import Console
from rich.text import Text

from kwire._util.light_typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Screen"]


class Screen:
    """Shows a picture in the other buffer of a terminal, and leaves the last one behind. Ctrl-C ends it.

    Args:
        terminal: the stream of the terminal.
        seconds: the time between two pictures.
        title: the text above the picture.
    """

    def __init__(self, terminal: TextIO, seconds: float, title: str) -> None:
        self._terminal = terminal
        self._console = Console(file=terminal)
        self._buffer = self._console.screen()
        self._seconds = seconds
        self._title = title
        self._last = ""
        self._next = 0.0

    def __enter__(self) -> Self:
        self._buffer.__enter__()
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._buffer.__exit__(type, error, traceback)
        self._terminal.write(self._last)
        self._terminal.flush()
        return isinstance(error, KeyboardInterrupt)

    def draw(self, function: Callable[[], None]) -> None:
        """Show what a function prints."""
        self._next = time.monotonic() + self._seconds
        picture = _Picture()
        with redirect_stdout(picture), redirect_stderr(picture):
            function()
        self._last = picture.getvalue()
        head = f"{self._title}   {time.strftime('%H:%M:%S')}   every {self._seconds:g} s, Ctrl-C ends"
        rows = self._console.height
        lines = [head, "", *self._last.removesuffix("\n").split("\n")]
        if len(lines) > rows:
            lines[rows - 1 :] = [f"... {len(lines) - rows + 1} more lines"]
        self._buffer.update(Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop"))

    def wait(self) -> None:
        """Wait until the next picture is due."""
        time.sleep(max(self._next - time.monotonic(), 0.0))


class _Picture(io.StringIO):
    """Text that is printed as on a terminal."""

    def isatty(self) -> bool:
        return True
