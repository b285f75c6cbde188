"""Output that goes through a pager if it does not fit the terminal."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import ReadableBuffer

__all__ = ["PagedOutput", "pager_command"]


def pager_command() -> Sequence[str] | None:
    """Return the command of PAGER, or less or more; None if there is none."""
    chosen = os.environ.get("PAGER")
    if chosen is not None:
        return shlex.split(chosen) or None
    if shutil.which("less") is not None:
        return ("less", "-RS")
    return ("more",) if shutil.which("more") is not None else None


class PagedOutput(io.RawIOBase):
    """Passes bytes to a terminal, or to a pager as soon as they have more lines than the terminal.

    Args:
        terminal: the stream of the terminal.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._held: list[bytes] = []
        self._lines = 0
        self._pager: subprocess.Popen[bytes] | None = None
        self._unpaged = pager_command() is None

    @property
    def name(self) -> str:
        return self._terminal.name

    def text(self) -> io.TextIOWrapper:
        """Return a stream of text that writes to this one."""
        return io.TextIOWrapper(self, self._terminal.encoding, "backslashreplace", write_through=True)

    def fileno(self) -> int:
        return self._terminal.fileno()

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        text = bytes(data)
        if self._pager is not None:
            self._pass(text)
            return len(text)
        self._held.append(text)
        self._lines += text.count(b"\n")
        if not self._unpaged and self._lines >= os.get_terminal_size(self._terminal.fileno()).lines:
            self._start_pager()
        return len(text)

    def flush(self) -> None:
        """Show the lines so far, unless a pager shows them."""
        if self._held and self._pager is None:
            self._terminal.buffer.write(b"".join(self._held))
            self._terminal.flush()
            self._held = []

    def finish(self) -> None:
        """Show the rest, and wait for the end of the pager."""
        self.flush()
        if self._pager is None:
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
        try:
            self._pager.communicate()
        finally:
            signal.signal(signal.SIGINT, before)

    def _start_pager(self) -> None:
        command = pager_command()
        assert command is not None
        self._pager = subprocess.Popen(command, stdin=subprocess.PIPE)
        for text in self._held:
            self._pass(text)
        self._held = []

    def _pass(self, text: bytes) -> None:
        assert self._pager is not None
        assert self._pager.stdin is not None
        with suppress(BrokenPipeError):  # the person has seen enough
            self._pager.stdin.write(text)
            self._pager.stdin.flush()
