"""The prompt: statements that a person types, over several lines, with history and completion.

The history is a file that only its owner can read. Statements with secrets are not kept.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire._util.readable import counted
from kwire.declare.secrets import is_secret_config
from kwire.terminal.environment import state_folder
from kwire_admin.cli.shell.completer import StatementCompleter
from kwire_admin.cli.shell.parser import parse
from kwire_admin.cli.shell.session import Leave

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

    from kwire_admin.cli.shell.parser import Statement
    from kwire_admin.cli.shell.session import ShellSession

__all__ = ["contains_secret", "run_prompt"]

PROMPT = "kafka>"
CONTINUED = "    ->"


def run_prompt(session: ShellSession, defaults: Mapping[str, Any]) -> int:
    """Run the statements that a person types until Ctrl-D or `exit;`, and return the exit code."""
    completer = StatementCompleter(session)
    prompt: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        history=_history(),
        completer=completer,
        complete_while_typing=True,
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=_key_bindings(),
        bottom_toolbar=lambda: toolbar(session),
        reserve_space_for_menu=6,
    )

    def show_arrived() -> None:
        if prompt.app.loop is not None and not prompt.app.loop.is_closed():
            prompt.app.loop.call_soon_threadsafe(_show_candidates, prompt)

    def start_background(_: object) -> None:
        prompt.app.after_render -= start_background
        session.names.start()
        completer.start(show_arrived)

    session.names.on_change = show_arrived
    prompt.app.after_render += start_background
    while True:
        try:
            source = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        from kwire.terminal.end_signals import ENDED
        from kwire.terminal.problems import INTERRUPTED
        from kwire_admin.cli.shell.runner import run_statement  # imports what a prompt does not need

        try:
            for statement in parse(f"{source}\n").statements:
                code = run_statement(session, source, statement, defaults)
                if code == INTERRUPTED:
                    break
                if code in ENDED:  # SIGTERM and SIGHUP are meant for the whole shell
                    return code
        except Leave:
            return 0


def toolbar(session: ShellSession) -> str:
    """Return the line below the prompt: the cluster, what is in use, and whether the names are current."""
    choice = session.choice
    parts = [choice.name or choice.bootstrap]
    parts += [f"{kind} {name}" for kind, name in (("topic", session.topic), ("group", session.group)) if name]
    topics = session.names.count("topics")
    if session.names.failure is not None:
        parts.append(f"no names: {session.names.failure}")
    elif topics is not None:
        parts.append(counted(topics, "topic"))
    if choice.read_only:
        parts.append("read-only")
    return "  ".join(parts)


def _show_candidates(prompt: PromptSession[str]) -> None:
    """Show candidates that have arrived since the last key, and the new state of the cluster."""
    buffer = prompt.default_buffer
    if prompt.app.is_running and buffer.text and buffer.complete_state is None:
        buffer.start_completion()
    prompt.app.invalidate()


def _key_bindings() -> KeyBindings:
    """Return bindings for Enter: accept a complete statement, else begin a new line."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def accept(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif parse(f"{buffer.text}\n").unfinished is None:
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return bindings


def _history() -> History:
    """Return the history in a file, or in memory if the file cannot be written."""
    try:
        return StatementHistory(Path(state_folder()) / "shell_history")
    except OSError:
        return InMemoryHistory()


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
