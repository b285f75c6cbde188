"""Commands and options in the form that completion reads, kept in a file.

The file is made from the commands when it is missing, and again when a file of a command or a verb has changed.

A grammar consists of values that `marshal` stores. A group is a dict with `commands` (grammars by name), `aliases`
(names by other names), and `help`; a command is a dict with `arguments` in place of the first two. Both have `options`:
the specification of an option's value by each of its names; `commands` beside this module describes specifications.
"""

from __future__ import annotations

import marshal
import os
import sys

from kwire import __version__
from kwire.terminal.environment import cache_folder
from kwire_admin.cli.completion.name_cache import write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire_admin.cli.completion.commands import Grammar

CLI = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPERATIONS = os.path.join(os.path.dirname(CLI), "operations")
VERBS = os.path.join(OPERATIONS, "verbs")


def load_grammar(name: str = "commands") -> Grammar:
    """Return the grammar of all commands, or of the shell. Without a cache that can be written, it is made each time.

    Args:
        name: `commands`, or `statements` for the shell.
    """
    path = os.path.join(cache_folder(), name)
    identity = _identity()
    cached = _read(path)
    if cached is not None and cached[0] == identity:
        return cached[1]
    from contextlib import suppress

    from kwire_admin.cli.completion.commands import read_commands, read_statements

    grammar = read_commands() if name == "commands" else read_statements()
    with suppress(OSError):
        write_atomically(path, marshal.dumps((identity, grammar)))
    return grammar


def _read(path: str) -> tuple[object, Grammar] | None:
    """Return what the file contains; None if it is missing or damaged."""
    try:
        with open(path, "rb") as file:
            identity, grammar = marshal.load(file)
    except OSError:
        return None
    except (EOFError, ValueError, TypeError):
        return None
    return identity, grammar


def _identity() -> tuple[str, int, int, int]:
    """Return versions, and the number and the latest time of source files, which change when a command changes."""
    count, latest = 0, 0
    folders = [CLI, os.path.join(CLI, "commands"), os.path.join(CLI, "shell", "statements"), OPERATIONS, VERBS]
    while folders:
        folder = folders.pop()
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                count, latest = count + 1, max(latest, entry.stat().st_mtime_ns)
            elif folder == VERBS and entry.name != "__pycache__":
                folders.append(entry.path)
    return __version__, sys.hexversion, count, latest
