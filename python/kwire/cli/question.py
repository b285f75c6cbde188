"""Questions on the terminal."""

from __future__ import annotations

import os
import select
import signal
import sys

import click

__all__ = ["ask", "confirm"]


def confirm(question: str) -> bool:
    """Ask a question on stderr until the answer is yes or no; an empty line means no.

    Raises:
        click.Abort: Ctrl-C or Ctrl-D was pressed.
    """
    while True:
        match ask(f"{question} [y/N]: ").lower():
            case "y" | "yes":
                return True
            case "" | "n" | "no":
                return False
        print("Error: invalid input", file=sys.stderr)


def ask(question: str) -> str:
    """Print a question to stderr, and return the line that is typed, without blanks around it.

    Raises:
        click.Abort: Ctrl-C or Ctrl-D was pressed.
    """
    # While asyncio runs, Ctrl-C only cancels a task, which does not end a question.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(question, end="", file=sys.stderr, flush=True)
        if sys.platform != "win32":
            _wait_for_line()
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        raise click.Abort from None
    finally:
        signal.signal(signal.SIGINT, before)
    if not line:
        raise click.Abort
    return line.strip()


def _wait_for_line() -> None:
    """Wait until a line was typed or a signal arrives.

    Python runs the handler of a signal only after the system call in progress. A signal that arrives right before a
    call that waits for a line would have no effect until the line is there.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        while sys.stdin not in select.select([sys.stdin, reading], [], [])[0]:
            os.read(reading, 4096)  # a signal without an exception, such as a change of the size of the terminal
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)
