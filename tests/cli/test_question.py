"""Questions on a terminal: answers, and Ctrl-C at any moment."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import environment, read_terminal

if TYPE_CHECKING:
    from pathlib import Path

CONFIRM = """
import click
from kwire.cli.question import confirm
try:
    print("confirmed" if confirm("Really?") else "not confirmed")
except click.Abort:
    print("aborted")
"""

INTERRUPT_IN_ANOTHER_THREAD = (
    """
import pathlib, signal, sys, threading, time

def interrupt():
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.01)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt).start()
"""
    + CONFIRM
)
"""The signal does not interrupt what the main thread waits for, like one that arrives right before it waits."""


class Asked:
    """A program that asks `Really?` on a terminal."""

    def __init__(self, program: str, *arguments: str) -> None:
        self.controller, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment(),
        )
        os.close(terminal)
        self._shown = b""
        self.wait_asked(1)

    def wait_asked(self, times: int) -> None:
        while self._shown.count(b"Really? [y/N]: ") < times:
            self._shown += os.read(self.controller, 1 << 16)

    def last_line(self) -> str:
        """Wait until the program ends, and return the last line that it has printed."""
        while chunk := read_terminal(self.controller):
            self._shown += chunk
        os.close(self.controller)
        assert self._process.wait(60) == 0
        return self._shown.decode().splitlines()[-1]


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [
        (b"y\n", "confirmed"),
        (b" Yes \n", "confirmed"),
        (b"\n", "not confirmed"),
        (b"no\n", "not confirmed"),
        (b"\x04", "aborted"),
    ],
)
def test_answer_is_yes_or_no(typed: bytes, outcome: str) -> None:
    asked = Asked(CONFIRM)
    os.write(asked.controller, typed)
    assert asked.last_line().endswith(outcome)


def test_other_answer_is_asked_for_again() -> None:
    asked = Asked(CONFIRM)
    os.write(asked.controller, b"perhaps\n")
    asked.wait_asked(2)
    os.write(asked.controller, b"y\n")
    assert asked.last_line() == "confirmed"


def test_interrupt_is_noticed_even_if_it_arrives_right_before_the_line_is_waited_for(tmp_path: Path) -> None:
    asked = Asked(INTERRUPT_IN_ANOTHER_THREAD, str(tmp_path / "now"))
    (tmp_path / "now").touch()
    assert asked.last_line().endswith("aborted")
