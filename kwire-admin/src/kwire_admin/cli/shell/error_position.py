"""The word of a statement that an error is about, and the error with carets below the word.

  topics describe ordrs;
                  ^^^^^
Error: topic ordrs: UNKNOWN_TOPIC_OR_PARTITION (3); did you mean orders?
"""

from __future__ import annotations

import re
import sys

import click

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import printable

if TYPE_CHECKING:
    from kwire_admin.cli.shell.parser import Statement, Word

__all__ = ["StatementErrors", "find_word", "marked"]


class StatementErrors:
    """Prints the errors of one statement to stderr.

    Args:
        source: the text that contains the statement.
        statement: the statement; None before the first one.
        first_line: the number of the first line of the source in a script; None if a person has typed it.
    """

    def __init__(self, source: str = "", statement: Statement | None = None, first_line: int | None = None) -> None:
        self._source = source
        self._statement = statement
        self._first_line = first_line

    def report(self, sentence: str, item: str | None = None) -> None:
        """Print an error.

        Args:
            item: the refused item, such as a topic; None if the error concerns the whole statement.
        """
        word = None if self._statement is None else find_word(self._statement, sentence, item)
        self._print(sentence, None if word is None else (word.start, word.end))

    def report_usage(self, error: click.ClickException) -> None:
        """Print an error of the statement itself."""
        sentence = error.format_message()
        if self._statement is not None and isinstance(error, click.MissingParameter):
            end = self._statement.words[-1].end
            self._print(sentence, (end, end))
        else:
            self.report(sentence, getattr(error, "option_name", None))

    def _print(self, sentence: str, span: tuple[int, int] | None) -> None:
        position = span[0] if span else self._statement.start if self._statement else 0
        place = (
            "" if self._first_line is None else f"line {self._first_line + self._source.count(chr(10), 0, position)}: "
        )
        lines = marked(self._source, *span) if span else ""
        print(f"{lines}Error: {place}{printable(sentence)}", file=sys.stderr)


def find_word(statement: Statement, sentence: str, item: str | None = None) -> Word | None:
    """Return the word that an error is about; None if the error does not say so.

    Args:
        sentence: the error. It may quote the word.
        item: the name of what was refused, such as `orders` or `topic orders`.
    """
    words = statement.words
    quoted = [item, *re.findall(r"'([^']+)'", sentence)]
    matching = [word for text in quoted if text for word in words if text in (word.text, word.text.partition("=")[0])]
    if matching:  # the value of an option rather than the option
        return next((word for word in matching if not word.text.startswith("-")), matching[0])
    named = [word for word in words[2:] if _names(sentence if item is None else f"{item}: {sentence}", word.text)]
    return max(named, key=lambda word: word.end - word.start, default=None)


def marked(source: str, start: int, end: int) -> str:
    """Return the line of a source with carets below a part of it; one caret if the part is empty."""
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", start)
    line = source[first : len(source) if last < 0 else last]
    carets = "^" * max(min(end, first + len(line)) - start, 1)
    blanks = "".join(character if character == "\t" else " " for character in source[first:start])
    return f"  {line}\n  {blanks}{carets}\n"


def _names(sentence: str, word: str) -> bool:
    """Return whether a sentence contains a word that is not part of a longer one."""
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w]|[.-]\w)", sentence) is not None if word else False
