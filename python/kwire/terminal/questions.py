"""Questions to the person at the terminal, which Ctrl-C ends at any moment."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["ask"]


def ask(question: str, stream: TextIO) -> str:
    """Print a question to a stream, and return the line that answers it, without white space around it.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, or the input ended (Ctrl-D).
    """
    with _interrupts_at_once():
        print(question, end="", file=stream, flush=True)
        if sys.stdin.isatty() and sys.platform != "win32":  # select() of Windows takes sockets only
            _wait_for_line()
        answer = sys.stdin.readline()
    if not answer:
        raise KeyboardInterrupt
    return answer.strip()


@contextmanager
def _interrupts_at_once() -> Iterator[None]:
    """Let Ctrl-C end a question: while an event loop runs, it only cancels a task, which does not end a question."""
    import signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _wait_for_line() -> None:
    """Wait until a line was typed. The calling thread must be the main thread, which gets the signals.

    A signal in the moment before a read would not end that read, and Python handles signals between its own steps only.
    So that none waits for the next key, each also writes to a socket that ends this wait.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    import select
    import signal
    import socket

    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            while sys.stdin not in (ready := select.select([sys.stdin, reader], [], [])[0]):
                if reader in ready:
                    reader.recv(64)
        finally:
            signal.set_wakeup_fd(before)
