"""Runs the command as a process, with pipes or on a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple, Self

from tests.cli import fork_server

GOLDEN = Path(__file__).parent / "golden"
DATA = Path(__file__).parent.parent / "data"

COMMAND = (sys.executable, "-m", "kwire")

ON_ITS_TERMINAL = (
    sys.executable,
    "-c",
    """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a process in the background ignores it, and its children inherit that
os.execvp(sys.argv[1], sys.argv[1:])
""",
)
"""Runs a program with stdin as the terminal of its session, as a terminal emulator does, so that Ctrl-C is a signal."""

INTERRUPTIBLE = (
    sys.executable,
    "-c",
    """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
""",
)
"""Runs a program that ignores neither interrupts nor hang-ups, even if the tests do, as those under nohup."""


class Run(NamedTuple):
    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    """Return the environment without variables that change the output."""
    unwanted = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTHONWARNINGS"}
    return {name: value for name, value in os.environ.items() if name not in unwanted} | {"TERM": "xterm"} | changes


def kwire(*arguments: str | Path, stdin: str | bytes = b"", **changes: str) -> Run:
    """Run the command with all streams redirected, in a forked child where Python's own options do not matter."""
    words = [*map(str, arguments)]
    variables = environment(**changes)
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode() if isinstance(stdin, str) else stdin)
        for stream in streams:
            stream.seek(0)
        if any(name.startswith("PYTHON") for name in changes):
            code = subprocess.run(
                [*COMMAND, *words],
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                env=variables,
                check=False,
            ).returncode
        else:
            code = fork_server.run(words, variables, *(stream.fileno() for stream in streams))
        out, err = (os.pread(stream.fileno(), os.fstat(stream.fileno()).st_size, 0).decode() for stream in streams[1:])
    return Run(code, out, err)


def kwire_bytes(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    """Return the output of a run that must succeed."""
    done = kwire(*arguments, stdin=stdin)
    assert done.code == 0, done.err
    return done.out.encode()


def kwire_on_terminal(*arguments: str | Path, **changes: str) -> Run:
    """Run the command on a terminal of unknown size; `out` is everything printed to it."""
    return kwire_on_terminal_of((0, 0), *arguments, **changes)


def kwire_on_terminal_of(size: tuple[int, int], *arguments: str | Path, **changes: str) -> Run:
    """Run the command on a terminal with a size in lines and columns; `out` is everything printed to it."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, size)
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=terminal, stdout=terminal, stderr=terminal, env=environment(**changes)
    )
    os.close(terminal)
    shown = b""
    while chunk := read_terminal(controller):
        shown += chunk
    os.close(controller)
    return Run(process.wait(timeout=60), shown.decode().replace("\r\n", "\n"), "")


def read_terminal(controller: int) -> bytes:
    """Return what was printed next, b"" after the end of the last program on the terminal."""
    try:
        return os.read(controller, 1 << 16)
    except OSError:
        # Linux raises this when the last process has closed the terminal; other systems return b"".
        return b""


class Running:
    """A run in progress."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            # Background processes ignore interrupts, and their children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # no thread runs yet
        )
        self.stdin = _open(self.process.stdin)
        self.stdout = _open(self.process.stdout)
        self.stderr = _open(self.process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):  # what was written last may never have been read
            self.stdin.close()
        self.stdout.close()
        self.stderr.close()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def assert_golden(name: str, text: str) -> None:
    """Compare text with a file of `golden/`; `KWIRE_WRITE_GOLDEN=1` rewrites the files, to be reviewed."""
    path = GOLDEN / name
    if os.environ.get("KWIRE_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
