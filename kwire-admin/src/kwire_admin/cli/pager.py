"""Output that goes through a pager if it does not fit the terminal."""

from __future__ import annotations

import io
import os
import sys
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress

from kwire._util.light_typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PagedOutput", "no_pager", "paged_stdout"]

PAGER = "PAGER"
"""The environment variable with the pager. An empty value means none, as in git; no value means less in the shell."""
LESS_OPTIONS = "-FRSX"
"""Options of less without LESS: no pager for what fits, colors, long lines cut at the edge instead of wrapped, and
what was read stays on the screen. git has the same ones except -S."""


def no_pager() -> None:
    """Use no pager in this process."""
    os.environ[PAGER] = ""


@contextmanager
def paged_stdout() -> Iterator[None]:
    """Pass stdout to the pager of the environment if it is a terminal, and its lines do not fit.

    Without the variable there is none: programs run commands on terminals where no person can end a pager, such as
    jobs of CI and `docker run -t`.
    """
    # A statement of the shell has a pager already, and a pipe needs none.
    if isinstance(sys.stdout, PagedOutput) or not os.environ.get(PAGER) or not _is_terminal(sys.stdout):
        yield
        return
    output = PagedOutput(sys.stdout)
    with redirect_stdout(output):
        try:
            yield
        finally:
            output.finish()


def _is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal, and not only says so, as one that collects a picture does."""
    try:
        return os.isatty(stream.fileno())
    except OSError:
        return False


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
        # A terminal without a size shows everything.
        self._height = os.get_terminal_size(terminal.fileno()).lines if os.environ.get(PAGER) != "" else 0

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
        if 0 < self._height <= self._lines:
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
        import click

        os.environ.setdefault("LESS", LESS_OPTIONS)
        with redirect_stdout(self._terminal):  # click asks whether stdout is a terminal
            self._pager = self._running.enter_context(click.get_pager_file())
        held, self._held = self._held, []
        self._pass("".join(held))

    def _pass(self, text: str) -> None:
        assert self._pager is not None
        with suppress(BrokenPipeError):  # the person has seen enough
            self._pager.write(text)
            self._pager.flush()
