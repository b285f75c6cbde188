"""Shells on terminals: what a line is after Tab, and what a shell lists."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Self

from tests.cli.running import ON_ITS_TERMINAL, environment

if TYPE_CHECKING:
    from pathlib import Path

ARGUMENTS = {
    "bash": ("--noprofile", "--norc", "-i"),
    "zsh": ("-f", "-i"),
    "fish": ("--no-config", "--interactive"),
}
SETUP = {
    "bash": (
        "PS1='ready> '",
        "bind 'set enable-bracketed-paste off'",
        "bind 'set show-all-if-ambiguous on'",
        "bind 'set completion-query-items -1'",
        "bind 'set page-completions off'",
        """bind -x '"\\C-g": printf "LINE<%s>\\n" "$READLINE_LINE"'""",
        "source <(kafka completion bash)",
    ),
    "zsh": (
        "PS1='ready> '",
        "unsetopt prompt_sp; unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste",
        "LISTMAX=100000; setopt no_beep no_auto_menu",
        "autoload -U compinit && compinit -D",
        'show_line() { print -r -- "LINE<$BUFFER>" }; zle -N show_line; bindkey "^G" show_line',
        "source <(kafka completion zsh)",
    ),
    "fish": (
        "function fish_prompt; printf 'ready> '; end",
        "bind \\cg 'printf \"LINE<%s>\\n\" (commandline)'",
        "kafka completion fish | source",
    ),
}
"""Commands that prepare a shell: Ctrl-G prints the line."""

installed_shells = [name for name in SETUP if shutil.which(name) is not None]


class Shell:
    """An interactive shell that has the command `kafka`.

    Args:
        name: `bash`, `zsh`, or `fish`.
        folder: an empty folder for the home and the program.
        variables: environment variables.
    """

    def __init__(self, name: str, folder: Path, **variables: str) -> None:
        program = folder / "kafka"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m kwire "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
        self._controller, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [*ON_ITS_TERMINAL, name, *ARGUMENTS[name]],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            start_new_session=True,
            env=environment(
                **home, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", COLUMNS="200", LINES="100", **variables
            ),
        )
        os.close(terminal)
        for line in SETUP[name]:
            self._write(f" {line}\r")
        self._write(" echo SET-''UP\r")
        self._read_until(r"SET-UP")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._controller)

    def complete(self, line: str) -> str:
        """Return what a line becomes after Tab."""
        return self._tab(line)[1]

    def candidates(self, line: str) -> list[str]:
        """Return the words that the shell lists after two Tabs."""
        shown = self._tab(line, tabs=2)[0]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", shown).split()

    def _tab(self, line: str, tabs: int = 1) -> tuple[str, str]:
        """Return what is printed, and the line afterwards."""
        self._write(line)
        for _ in range(tabs):
            self._write("\t")
        self._write("\x07")
        shown = self._read_until(r"LINE<(.*)>")
        found = re.findall(r"LINE<(.*)>", shown)[-1]
        self._write("\x15")  # Ctrl-U deletes the line
        return shown.partition("LINE<")[0], found

    def _write(self, text: str) -> None:
        os.write(self._controller, text.encode())

    def _read_until(self, pattern: str, seconds: float = 120) -> str:
        shown = b""
        end = time.monotonic() + seconds
        while not re.search(pattern.encode(), shown):
            ready, _, _ = select.select([self._controller], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {pattern} within {seconds} s in {shown!r}"
            shown += os.read(self._controller, 1 << 16)
        return shown.decode().replace("\r\n", "\n")
