"""Streams and errors of one run of a command, whoever parses its words.

click is not imported here: a command line without anything unusual does without it.
"""

from __future__ import annotations

import errno
import os
import sys
from io import BufferedWriter, RawIOBase, TextIOWrapper, UnsupportedOperation

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EXIT_INTERRUPTED", "EXIT_INVALID_INPUT", "run_with_streams"]

EXIT_INVALID_INPUT = 1
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF})
"""Errors of writes: no space, the end of a quota or of the size of a file, or a closed stdout."""


def run_with_streams(run: Callable[[list[str]], int], arguments: Sequence[str]) -> int:
    """Run a command line, and return the exit code.

    Args:
        run: runs the words, and returns the exit code.
        arguments: the words of the command line, without the name of the program.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # JSON is always UTF-8. Characters that the terminal cannot show must not end the run.
        if isinstance(stream, TextIOWrapper):  # a program that calls this function may have put another one there
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _run(run, list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        # Such an error of a file has its name; an error of a stream has none.
        is_output = error.filename is None and error.errno in FULL
        what = f"cannot write the output: {error.strerror}" if is_output else str(error)
        from kwire._util.readable import printable

        print(f"Error: {printable(what)}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # stdout itself caused the error
            _discard_output()
        return EXIT_INVALID_INPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def _open_closed_streams() -> None:
    """Open /dev/null in place of standard streams that the parent process has closed, which are None."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    from pathlib import Path

    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)  # keeps the number 1, which the next file or connection would get
        sys.stdout = TextIOWrapper(BufferedWriter(_ClosedOutput()), encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")


class _ClosedOutput(RawIOBase):
    """The standard output of a process that has none: nothing can be written, and that is an error, not a success."""

    def writable(self) -> bool:
        """Return True: an error of the first write ends the command, as one of a full disk does."""
        return True

    def write(self, data: object) -> int:
        """Raise OSError."""
        del data
        raise OSError(errno.EBADF, "stdout is closed")


def _discard_output() -> None:
    """Redirect stdout to /dev/null: Python flushes its buffer at exit, which would fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except UnsupportedOperation:  # stdout is closed
        sys.stdout = os.fdopen(null, "w")


def _run(run: Callable[[list[str]], int], arguments: list[str]) -> int:
    try:
        return run(arguments)
    except KwireError as error:
        from kwire._util.products import BrokenProduct
        from kwire._util.readable import printable

        sys.stdout.flush()
        if "--debug" in arguments and isinstance(error, BrokenProduct):
            import traceback

            traceback.print_exception(error.__cause__ or error)
        print(f"Error: {printable(str(error))}", file=sys.stderr)
        return EXIT_INVALID_INPUT
