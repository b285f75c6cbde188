"""The words of an unfinished command line of bash, and words as bash reads them.

`split` reads the line character by character. Its state is a pair: the open quotation mark, if any, and whether the
character before was a backslash that escapes.

| state | character | effect | next |
|---|---|---|---|
| escaped | any | is part of the word | as before the backslash |
| plain, or in `"` | backslash | begins a word | escaped |
| in a quote | the same quotation mark | | plain |
| in a quote | any other | is part of the word | same |
| plain | `'` or `"` | begins a word | in that quote |
| plain | blank or line end | ends the word | plain |
| plain | any other | is part of the word; after a character of COMP_WORDBREAKS, bash keeps the word so far | plain |

A word exists once something has begun it, so `''` is an empty word and two blanks are one end.
"""

from __future__ import annotations

SPECIAL = frozenset(" \t\n'\"\\$`|&;<>(){}[]*?!#~^")
"""Characters that bash does not take literally everywhere in a word."""


class ShellWord:
    """The last word of a line.

    Attributes:
        text: the word without quotes.
        quote: the quotation mark that is still open; an empty string if there is none.
        kept: the part that bash keeps in front of a completion, because it breaks words at characters such as `:`.
    """

    __slots__ = ("kept", "quote", "text")

    def __init__(self, text: str, quote: str, kept: str) -> None:
        self.text = text
        self.quote = quote
        self.kept = kept


def split(line: str, breaks: str) -> tuple[list[str], ShellWord]:
    """Return the complete words of a line, and the word at its end, which may be empty.

    Args:
        breaks: the value of COMP_WORDBREAKS.
    """
    words: list[str] = []
    word, quote, kept = "", "", 0
    started = escaped = False
    for character in line:
        if escaped:
            word, escaped = word + character, False
        elif character == "\\" and quote != "'":
            escaped = started = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "'\"":
            quote, started = character, True
        elif character in " \t\n":
            if started:
                words.append(word)
            word, kept, started = "", 0, False
        else:
            word, started = word + character, True
            if character in breaks:
                kept = len(word)
    return words, ShellWord(word, quote, "" if quote else word[:kept])


def escape(text: str, word: ShellWord) -> str:
    """Return a candidate as bash inserts it: without what it keeps, and with backslashes unless a quote is open."""
    text = text.removeprefix(word.kept)
    if word.quote:
        return text
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)
