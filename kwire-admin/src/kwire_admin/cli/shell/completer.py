"""Completion of statements: verbs, options, and names of the cluster. It reads memory only."""

from __future__ import annotations

import threading

from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Candidate

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire_admin.cli.completion.completer import CommandLine, Completion
from kwire_admin.cli.completion.grammar_file import load_grammar
from kwire_admin.cli.shell.parser import parse, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.document import Document

    from kwire_admin.cli.completion.commands import Grammar
    from kwire_admin.cli.shell.parser import StatementList
    from kwire_admin.cli.shell.session import ShellSession

__all__ = ["StatementCompleter", "candidates"]

PREFIXES = ("watch", "help")
"""Statements that have another one as arguments."""


class StatementCompleter(Completer):
    """Completes the statement before the cursor.

    Args:
        session: has the names.
    """

    def __init__(self, session: ShellSession) -> None:
        self._session = session
        self._grammar: Grammar | None = None

    def start(self, loaded: Callable[[], None]) -> None:
        """Load the grammar in the background, and call a function then. Without a cache, it imports all verbs."""

        def load() -> None:
            self._grammar = load_grammar("statements")
            loaded()

        threading.Thread(target=load, name="kwire-grammar", daemon=True).start()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Candidate]:
        """Return the candidates for the word before the cursor."""
        del complete_event
        if self._grammar is None:
            return
        script = parse(document.text_before_cursor)
        completions, start = candidates(self._grammar, self._session, script)
        length = len(document.text_before_cursor) - start
        ending = "" if completions.how == "nospace" else " "
        for name, text in completions.names:
            yield Candidate(quote(name) + ending, -length, display=name, display_meta=text)


def candidates(grammar: Grammar, session: ShellSession, script: StatementList) -> tuple[Completion, int]:
    """Return the candidates for the last word of a source, and the offset where it starts."""
    end = len(script.source)
    if script.unfinished is None:
        return _StatementLine(grammar, session).candidates((), ""), end
    words = list(script.unfinished.words)
    in_word = words[-1].end == end and (script.unfinished.missing != ";" or not script.source[-1].isspace())
    last = words.pop() if in_word else None
    texts = [word.text for word in words]
    prefix = "" if last is None else last.text
    start = end if last is None else last.start
    if texts[:1] == ["set"]:
        return _configs(session, texts, prefix), start
    if texts and texts[0] in PREFIXES:
        texts = texts[2:] if len(texts) > 1 and texts[1].replace(".", "", 1).isdigit() else texts[1:]
    return _StatementLine(grammar, session).candidates(texts, prefix), start


def _configs(session: ShellSession, texts: list[str], prefix: str) -> Completion:
    """Return the configs that `set` sets."""
    if len(texts) > 1:
        return Completion()
    kind = "broker-configs" if session.topic is None else "topic-configs"
    return Completion([(name, "") for name in session.names.matches(kind, prefix)])


class _StatementLine(CommandLine):
    """The words of a statement, completed with the names that the session has."""

    def __init__(self, grammar: dict[str, Any], session: ShellSession) -> None:
        super().__init__(grammar)
        self._session = session

    def names(self, kind: str, prefix: str) -> list[str]:
        """Return names of a kind."""
        return self._session.names.matches(kind, prefix)
