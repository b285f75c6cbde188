"""A program in a real terminal: keys that a person presses, and what the screen shows then. Needs tmux."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Self

from tests.cli.running import COMMAND, environment
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

VARIABLES = ("PATH", "PYTHONPATH", "LANG", "LC_ALL")
"""The variables that the program gets from the tests."""


class Terminal:
    """The command in a terminal of its own.

    Args:
        home: an empty folder for the socket and the files of the user.
        arguments: the arguments of the command.
        columns, rows: the size.
        variables: further environment variables.
    """

    def __init__(self, home: Path, *arguments: str, columns: int = 100, rows: int = 30, **variables: str) -> None:
        self._socket = str(home / "tmux")
        known = {name: value for name, value in environment().items() if name in VARIABLES}
        folders = {"HOME": str(home), "XDG_STATE_HOME": str(home / ".local/state")}
        given = {"LC_ALL": "C.UTF-8", **known, **folders, **variables}
        options = [option for name, value in given.items() for option in ("-e", f"{name}={value}")]
        # The pane stays after the end of the command, so that its last lines and its exit code can be read.
        shell_line = f"trap : INT; {shlex.join([*COMMAND, *arguments])}; echo exit code $?; exec cat"
        self._tmux(
            *("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(rows)),
            *options,
            "sh",
            "-c",
            shell_line,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def type(self, text: str) -> None:
        """Type a text."""
        # tmux itself ends a command at a `;` that ends an argument.
        self._tmux("send-keys", "-l", "--", f"{text[:-1]}\\;" if text.endswith(";") else text)

    def press(self, *keys: str) -> None:
        """Press keys by the names of tmux, such as `Enter`, `C-c`, or `Tab`."""
        self._tmux("send-keys", *keys)

    def run(self, statement: str) -> None:
        """Type a statement and press Enter."""
        self.type(statement)
        self.press("Enter")

    def screen(self) -> str:
        """Return what the screen shows, without blanks at the ends of lines."""
        return self._tmux("capture-pane", "-p")

    def history(self) -> str:
        """Return the screen and what has scrolled off it."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def wait_for(self, *texts: str, within: float = 120.0) -> str:
        """Return the screen once it shows texts."""

        def shown() -> str | None:
            screen = self.screen()
            return screen if all(text in screen for text in texts) else None

        try:
            found = eventually_sync(shown, within=within, pause=0.05)
        except AssertionError:
            raise AssertionError(f"the terminal does not show {texts}:\n{self.screen()}") from None
        assert found is not None
        return found

    def wait_for_match(self, pattern: str, within: float = 120.0) -> None:
        """Wait until the screen matches a regular expression."""
        try:
            eventually_sync(lambda: re.search(pattern, self.screen()), within=within, pause=0.05)
        except AssertionError:
            raise AssertionError(f"the terminal does not show {pattern}:\n{self.screen()}") from None

    def wait_for_prompt(self) -> str:
        """Return the screen once the last line of the program is an empty prompt."""

        def shown() -> str | None:
            screen = self.screen()
            return (
                screen
                if [line for line in screen.splitlines() if line.startswith("kafka>")][-1:] == ["kafka>"]
                else None
            )

        try:
            found = eventually_sync(shown, within=60, pause=0.05)
        except AssertionError:
            raise AssertionError(f"the terminal does not show a prompt:\n{self.screen()}") from None
        assert found is not None
        return found

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
