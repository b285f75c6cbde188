"""Statements of the shell, with the position of every word.

A statement is a list of words that ends with `;` and may span lines:

    topics create orders --partitions 12
      --config 'cleanup.policy=compact';
    set topic_security['pci','profile','dss'] = true

- Blanks and newlines separate words. Single quotes keep everything; in double quotes and outside of quotes, a backslash
  keeps the next character.
- A `#` at the start of a word begins a comment, which ends with the line.
- `set` is different: its words are a key, `=`, and a value; brackets are kept with the quotes in them; and it also ends
  with the line once it is complete.
"""

from __future__ import annotations

import re

from kwire._util.light_typing import NamedTuple

__all__ = ["Statement", "StatementList", "Word", "parse", "quote"]

SET = "set"
"""The statement with a grammar of its own."""
SAFE = re.compile(r"""[^\s;'"\\#][^\s;'"\\]*""")
"""A text that is one word without quotes."""


class Word(NamedTuple):
    """A word.

    Attributes:
        text: the word without quotes.
        start, end: its offsets in the source, with quotes.
    """

    text: str
    start: int
    end: int


class Statement(NamedTuple):
    """A statement.

    Attributes:
        words: its words, at least one.
        end: the offset in the source after the statement and what ends it.
        missing: the missing end of the source: a quote, `]`, or `;`. Empty for a complete statement.
    """

    words: tuple[Word, ...]
    end: int
    missing: str = ""

    @property
    def start(self) -> int:
        """The offset of the first word."""
        return self.words[0].start

    @property
    def texts(self) -> list[str]:
        """The texts of the words."""
        return [word.text for word in self.words]


class StatementList(NamedTuple):
    """The statements of a source.

    Attributes:
        source: the text.
        statements: the complete statements.
        unfinished: the statement that the source does not complete; None if it ends after a statement.
    """

    source: str
    statements: tuple[Statement, ...]
    unfinished: Statement | None

    @property
    def rest(self) -> str:
        """The part of the source that is not complete."""
        return "" if self.unfinished is None else self.source[self.unfinished.start :]


def parse(source: str) -> StatementList:
    """Split a source into statements. Every source is valid."""
    scanner = _Scanner(source)
    statements: list[Statement] = []
    while (statement := scanner.statement()) is not None:
        if statement.missing:
            return StatementList(source, tuple(statements), statement)
        statements.append(statement)
    return StatementList(source, tuple(statements), None)


def quote(text: str) -> str:
    """Return a word that `parse` reads as this text."""
    if SAFE.fullmatch(text):
        return text
    escaped = re.sub(r'(["\\])', r"\\\1", text)
    return f'"{escaped}"'


class _Scanner:
    """Reads a source from left to right."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._position = 0

    def statement(self) -> Statement | None:
        """Return the next statement; None if only blanks, comments, and `;` are left."""
        words: list[Word] = []
        while True:
            crossed_newline = self._skip_blanks()
            if crossed_newline and _is_complete_set(words):
                return Statement(tuple(words), self._position)
            if self._position == len(self._source):
                return Statement(tuple(words), self._position, ";") if words else None
            if self._source[self._position] == ";":
                self._position += 1
                if words:
                    return Statement(tuple(words), self._position)
                continue
            word, missing = self._set_word(words) if words and words[0].text == SET else self._word("")
            if word.text.startswith("[") and len(words) == 2 and words[0].text == SET:
                words[1] = Word(words[1].text + word.text, words[1].start, word.end)  # `key ['index']`
            else:
                words.append(word)
            if missing:
                return Statement(tuple(words), self._position, missing)

    def _skip_blanks(self) -> bool:
        """Skip blanks and comments, and return whether a newline was among them."""
        start = self._position
        while self._position < len(self._source):
            if self._source[self._position] == "#":
                end = self._source.find("\n", self._position)
                self._position = len(self._source) if end < 0 else end
            elif self._source[self._position].isspace():
                self._position += 1
            else:
                break
        return "\n" in self._source[start : self._position]

    def _set_word(self, words: list[Word]) -> tuple[Word, str]:
        """Return the next word of a `set` statement."""
        if len(words) > 2:
            return self._word("", brackets=True)
        if self._source[self._position] == "=":
            self._position += 1
            return Word("=", self._position - 1, self._position), ""
        return self._word("=", brackets=True)

    def _word(self, stops: str, *, brackets: bool = False) -> tuple[Word, str]:
        """Return the word that starts here, and what is missing if the source ends in it.

        Args:
            stops: characters that end the word, besides blanks and `;`.
            brackets: true if brackets are kept as they are, up to the closing bracket.
        """
        source, start = self._source, self._position
        text: list[str] = []
        quoted_by, depth = "", 0
        while self._position < len(source):
            character = source[self._position]
            if not quoted_by and not depth and (character.isspace() or character == ";" or character in stops):
                break
            self._position += 1
            following = source[self._position : self._position + 1]
            if character == quoted_by:
                quoted_by = ""
                text.append(character if depth else "")
            elif character == "\\" and quoted_by != "'" and following:
                self._position += 1
                text.append(character + following if depth else following)
            elif not quoted_by and character in "'\"":
                quoted_by = character
                text.append(character if depth else "")
            else:
                if brackets and not quoted_by:
                    depth = max(depth + (character == "[") - (character == "]"), 0)
                text.append(character)
        missing = quoted_by or ("]" if depth else "")
        return Word("".join(text), start, self._position), missing


def _is_complete_set(words: list[Word]) -> bool:
    """Return whether the words are a `set` statement with a value."""
    return len(words) > 3 and words[0].text == SET and words[2].text == "="
