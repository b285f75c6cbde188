"""Output that goes through a pager if it does not fit the terminal."""

from __future__ import annotations

import io
import os
from contextlib import ExitStack, redirect_stdout, suppress

import click

from kwire._util.light_typing import TextIO

__all__ = ["PagedOutput"]


class PagedOutput(io.TextIOBase):
    """Passes text to a terminal, or to click's pager as soon as the text has more lines than the terminal.

    Args:
        terminal: the stream of the terminal.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._held: list[str] = []
        self._lines = 0
        self._pager: TextIO | None = None
        self._running = ExitStack()
        self._is_paged = os.environ.get("PAGER") != ""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property, as in TextIOWrapper
        return self._terminal.encoding

    def fileno(self) -> int:
        return self._terminal.fileno()

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if self._pager is not None:
            self._pass(text)
            return len(text)
        self._lines += text.count("\n")  # raises TypeError for bytes, from which click recognizes a stream of text
        self._held.append(text)
        if self._is_paged and self._lines >= os.get_terminal_size(self._terminal.fileno()).lines:
            self._start_pager()
        return len(text)

    def flush(self) -> None:
        """Show the lines so far, unless a pager shows them."""
        if self._held and self._pager is None:
            self._terminal.write("".join(self._held))
            self._terminal.flush()
            self._held = []

    def finish(self) -> None:
        """Show the rest, and wait for the end of the pager."""
        self.flush()
        self._running.close()

    def _start_pager(self) -> None:
        os.environ.setdefault("LESS", "-RS")  # less cuts long lines of tables instead of wrapping them
        with redirect_stdout(self._terminal):  # click asks whether stdout is a terminal
            self._pager = self._running.enter_context(click.get_pager_file())
        held, self._held = self._held, []
        self._pass("".join(held))

    def _pass(self, text: str) -> None:
        assert self._pager is not None
        with suppress(BrokenPipeError):  # the person has seen enough
            self._pager.write(text)
            self._pager.flush()
