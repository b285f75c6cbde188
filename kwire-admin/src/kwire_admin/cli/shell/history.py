"""The statements of earlier sessions, in a file that only its owner can read. Statements with secrets are not kept."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

from kwire._util.light_typing import TYPE_CHECKING
from kwire.declare.secrets import is_secret_config
from kwire.terminal.environment import state_folder
from kwire_admin.cli.shell.parser import parse

if TYPE_CHECKING:
    from kwire_admin.cli.shell.parser import Statement

__all__ = ["StatementHistory", "contains_secret", "history_file"]


def history_file() -> Path:
    """Return the path of the history, which need not exist."""
    return Path(state_folder()) / "shell_history"


def contains_secret(text: str) -> bool:
    """Return whether a statement of a text sets a config with a password or another secret."""
    script = parse(text)
    statements = (*script.statements, *(() if script.unfinished is None else (script.unfinished,)))
    return any(map(_sets_secret, statements))


def _sets_secret(statement: Statement) -> bool:
    keys = [word.text.removeprefix("--config=").partition("=")[0] for word in statement.words[1:]]
    return any(is_secret_config(key) or is_secret_config(key.partition("[")[0]) for key in keys)


class StatementHistory(FileHistory):
    """The history in a file.

    Args:
        path: the file, which is created if it is missing.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        super().__init__(path)

    def store_string(self, string: str) -> None:
        """Store a text, unless it contains a secret. On a full disk, it stays in this session only."""
        if not contains_secret(string):
            with suppress(OSError):
                super().store_string(string)
