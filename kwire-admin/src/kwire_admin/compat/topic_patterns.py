r"""Regular expressions of Kafka's scripts: Java's syntax, translated to Python's `re`.

The alphabet of topic names has 65 characters, all of ASCII. So every class, such as `[a-z&&[^b]]` or `\p{Upper}`,
is the set of the characters of that alphabet that it contains, and the flag `i` changes the sets. What is left, such
as groups and quantifiers, is equal in both syntaxes. The parser follows `java.util.regex.Pattern`, whose quirks are
part of the syntax: `]` and `}` can be literals, and a `{` without something to repeat repeats the empty text.

Refused because Python lacks it, or because it has no use in the names of topics: comments of `(?x)`, look-behind of
variable length, octal and control characters, properties of characters beyond PROPERTIES, and `&&` beside nothing.
"""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, hexdigits
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["INTERNAL_TOPICS", "InvalidPattern", "TopicPattern", "UnsupportedPattern", "java_pattern"]

ALPHABET = frozenset(ascii_letters + digits + "._-")
"""The characters of names of topics (`org.apache.kafka.common.internals.Topic`)."""
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics of Kafka itself; other names with two underscores are topics like any other."""
PROPERTIES = {
    **dict.fromkeys(("ASCII", "Graph", "Print", "javaDefined"), "".join(ALPHABET)),
    **dict.fromkeys(("Alpha", "IsAlphabetic", "IsLetter", "L", "javaAlphabetic", "javaLetter"), ascii_letters),
    **dict.fromkeys(("Alnum", "javaLetterOrDigit"), ascii_letters + digits),
    **dict.fromkeys(("Lower", "IsLowercase", "Ll", "javaLowerCase"), ascii_lowercase),
    **dict.fromkeys(("Upper", "IsUppercase", "Lu", "javaUpperCase"), ascii_uppercase),
    **dict.fromkeys(("Digit", "IsDigit", "N", "Nd", "javaDigit"), digits),
    **dict.fromkeys(("P", "Punct", "IsPunctuation"), "._-"),
    **dict.fromkeys(("Blank", "Cntrl", "IsWhite_Space", "S", "Space", "Z", "javaWhitespace"), ""),
    "XDigit": hexdigits,
}
r"""Characters of names of topics with a property, such as `\p{Alpha}`."""
CLASSES = {"d": digits, "h": "", "s": "", "v": "", "w": ascii_letters + digits + "_"}
"""Predefined classes; the upper-case letter is the complement."""
SIMPLE_ESCAPES = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
NEVER, ALWAYS = "(?!)", "(?:)"
POSITIONS = {"A": r"\A", "B": r"\B", "G": r"\A", "R": NEVER, "Z": r"\Z", "b": r"\b", "z": r"\Z"}
r"""Positions. `matches` starts at the start, so `\G` is only there, and no name has the end of a line."""

QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.|.", re.DOTALL)
QUANTIFIER = re.compile(r"(?:[?*+]|\{([0-9]{1,9})(?:,([0-9]{1,9})?)?\})[?+]?")
GROUP = re.compile(
    r"\((?:\?(?:(?P<kind>[:=!>]|<[=!])|<(?P<name>[A-Za-z][A-Za-z0-9]*)>"
    r"|(?P<flags>[imsduU]*)(?:-(?P<without>[imsducxU]*))?(?P<end>[:)])))?"
)
NAMED_REFERENCE = re.compile(r"k<([A-Za-z][A-Za-z0-9]*)>")
CODE_POINT = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,5})\}|u([0-9A-Fa-f]{4})")
PROPERTY = re.compile(r"([pP])(?:\{([^}]*)\}|([A-Z]))")


class InvalidPattern(ValueError):
    """A text that Java's regular expressions do not have. The text of the error is the reason."""


class UnsupportedPattern(InvalidPattern):
    """A regular expression of Java that cannot be translated. The text of the error names the part."""


class TopicPattern:
    """The pattern of the option `--topic`, as Kafka's `TopicFilter.IncludeList` reads it.

    A comma stands for `|`, blanks are dropped, and so are quotes around the whole, which `cmd.exe` passes on. The whole
    name must match.

    Raises:
        InvalidPattern: the text is not a regular expression.
    """

    def __init__(self, text: str) -> None:
        regex = text.strip("".join(map(chr, range(0x21)))).replace(",", "|").replace(" ", "")
        regex = re.sub("^[\"']+|[\"']+\\Z", "", regex)
        try:
            self._pattern = java_pattern(regex)
        except UnsupportedPattern as error:
            raise UnsupportedPattern(f"{text}: kwire does not support {error} in a regular expression") from None
        except InvalidPattern:
            raise InvalidPattern(f"{regex} is an invalid regex.") from None  # the sentence of Kafka

    def accepts(self, topic: str) -> bool:
        """Return whether the pattern matches the name of a topic."""
        return self._pattern.fullmatch(topic) is not None


def java_pattern(regex: str) -> re.Pattern[str]:
    """Return the pattern of Python that matches the same names of topics with `fullmatch`.

    Raises:
        InvalidPattern: Java refuses the expression, or it cannot be translated.
    """
    try:
        return re.compile(_Parser(QUOTED.sub(_with_escapes, regex)).whole())
    except (re.error, OverflowError, RecursionError) as error:  # such as look-behind of variable length
        if "group name" in str(error):  # it is defined twice, or not at all, which Java refuses as well
            raise InvalidPattern(str(error)) from None
        raise UnsupportedPattern(f"a part ({error})") from None


def _with_escapes(part: re.Match[str]) -> str:
    r"""Replace `\Q...\E` with escapes, as Java does before it parses."""
    if part[1] is None:
        return part[0]
    # A digit or a letter behind a backslash would be a reference or a class.
    return "".join(f"\\x{ord(c):02x}" if c.isascii() and c.isalnum() else f"\\{c}" for c in part[1])


class _Parser:
    """A recursive descent over an expression, in the order of Java's own. Sets are those of ALPHABET."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._groups = 0
        self._ignores_case = False

    def _take(self, text: str) -> bool:
        """Pass a text, and return whether it is next."""
        is_next = self._text.startswith(text, self._at)
        self._at += len(text) if is_next else 0
        return is_next

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Pass what an expression matches next."""
        match = expression.match(self._text, self._at)
        self._at = self._at if match is None else match.end()
        return match

    def _character(self, reason: str) -> str:
        """Pass a character. The reason is the error if there is none."""
        if self._at >= len(self._text):
            raise InvalidPattern(reason)
        self._at += 1
        return self._text[self._at - 1]

    def _is_next(self, characters: str) -> bool:
        """Return whether one of some characters is next."""
        return self._text[self._at : self._at + 1] in (*characters,)

    def whole(self) -> str:
        """Translate the whole expression."""
        translated = self._alternatives()
        if self._at < len(self._text):
            raise InvalidPattern("unmatched closing )")
        return translated

    def _alternatives(self) -> str:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return "|".join(parts)

    def _sequence(self) -> str:
        translated = ""
        while self._at < len(self._text) and not self._is_next("|)"):
            if self._is_next("("):
                item = self._group()
                if item is None:  # flags for the rest of the group
                    continue
            else:
                item = ALWAYS if self._is_next("{") else self._atom()
            translated += self._repeated(item)
        return translated

    def _atom(self) -> str:
        character = self._character("an end")
        if character in "?*+":
            raise InvalidPattern(f"dangling meta character {character!r}")
        if character == "\\":
            return self._escape()
        if character in "^$":
            return r"\A" if character == "^" else r"\Z"
        if character == ".":
            return _set(ALPHABET)
        return _set(self._class() if character == "[" else self._range(character, character))

    def _repeated(self, item: str) -> str:
        quantifier = self._match(QUANTIFIER)
        if quantifier is None and self._is_next("{"):
            raise InvalidPattern("illegal repetition")
        if quantifier is not None and quantifier[2] and int(quantifier[2]) < int(quantifier[1]):
            raise InvalidPattern("illegal repetition range")
        return item if quantifier is None else f"(?:{item}){quantifier[0]}"

    def _group(self) -> str | None:
        """Translate a group; None for flags that count until the end of the group around them."""
        ignored_case = self._ignores_case
        start = self._match(GROUP)
        assert start is not None, "an expression that begins with a parenthesis"
        if self._is_next("?"):
            raise UnsupportedPattern(self._text[self._at - 1 : self._at + 2])
        if start["end"]:
            if {"u", "U"} & {*start["flags"]} and not self._text.isascii():
                raise UnsupportedPattern("characters beyond ASCII without regard to case")
            self._ignores_case = (ignored_case or "i" in start["flags"]) and "i" not in (start["without"] or "")
        if start["end"] == ")":
            return None
        prefix = f"(?{start['kind'] or ':'}" if start["kind"] or start["end"] else "("
        if prefix == "(":
            self._groups += 1
            prefix = f"(?P<{start['name']}>" if start["name"] else prefix
        content = self._alternatives()
        if not self._take(")"):
            raise InvalidPattern("unclosed group")
        self._ignores_case = ignored_case
        return f"{prefix}{content})"

    def _escape(self) -> str:
        """Translate an escape outside of classes."""
        if (members := self._escaped_class()) is not None:
            return _set(members)
        if name := self._match(NAMED_REFERENCE):
            return self._reference(f"(?P={name[1]})")
        if self._is_next("123456789"):
            number = int(self._character(""))
            while self._is_next(digits) and number * 10 + int(self._text[self._at]) <= self._groups:
                number = number * 10 + int(self._character(""))
            return self._reference(f"(?:\\{number})")
        if self._text.startswith("b{g", self._at):
            raise UnsupportedPattern("\\b{g}")
        if self._is_next("".join(POSITIONS)):
            return POSITIONS[self._character("")]
        if self._take("X"):
            return _set(ALPHABET)
        character = self._escaped_character()
        return _set(self._range(character, character))

    def _reference(self, reference: str) -> str:
        return f"(?i:{reference})" if self._ignores_case else reference

    def _escaped_class(self) -> frozenset[str] | None:
        """Return the members of a class behind a backslash; None if there is something else."""
        if name := self._match(PROPERTY):
            text = (name[2] or name[3] or "").removeprefix("gc=")
            if text not in PROPERTIES:
                raise UnsupportedPattern(f"the property {text}")
            members = self._folded(PROPERTIES[text])
            return ALPHABET - members if name[1] == "P" else members
        if not self._is_next("dhsvwDHSVW"):
            return None
        letter = self._character("")
        members = frozenset(CLASSES[letter.lower()])
        return members if letter.islower() else ALPHABET - members

    def _escaped_character(self) -> str:
        if point := self._match(CODE_POINT):
            return chr(int(point[1] or point[2] or point[3], 16))
        character = self._character("illegal/unsupported escape sequence")
        if character in "0c":
            raise UnsupportedPattern(f"\\{character}")
        if character.isascii() and character.isalnum() and character not in SIMPLE_ESCAPES:
            raise InvalidPattern("illegal/unsupported escape sequence")
        return SIMPLE_ESCAPES.get(character, character)

    def _class(self) -> frozenset[str]:
        """Return the members of a class behind its bracket: `&&` intersects what is before it with what follows."""
        is_complement = self._take("^")
        members = self._union(is_first=True)
        while self._take("&&"):
            members &= self._union(is_first=False)
        self._take("]")
        return ALPHABET - members if is_complement else members

    def _union(self, *, is_first: bool) -> frozenset[str]:
        """Return the members of a class up to its end or to `&&`. A bracket at the beginning of a class is a member."""
        start, has_nested = self._at, False
        members: frozenset[str] = frozenset()
        while not (self._is_next("]") and (self._at > start or not is_first)) and not self._text.startswith(
            "&&", self._at
        ):
            nested = self._take("[")
            has_nested |= nested
            members |= self._class() if nested else self._class_item()
        # Java ignores a missing side, and intersects only with parts of what is mixed with a nested class.
        is_mixed = has_nested and not is_first and self._text[self._at - 1] != "]"
        if self._at == start or is_mixed or self._text[start] == "&":
            raise UnsupportedPattern("this use of &&")
        return members

    def _class_item(self) -> frozenset[str]:
        """Return the members of a character, a range, or an escape of a class."""
        first = self._class_character()
        if not isinstance(first, str):
            return first
        if not self._is_next("-") or self._text[self._at + 1 : self._at + 2] in ("[", "]"):
            return self._range(first, first)
        self._take("-")
        last = self._class_character(is_end=True)
        if not isinstance(last, str) or last < first:
            raise InvalidPattern("illegal character range")
        return self._range(first, last)

    def _class_character(self, *, is_end: bool = False) -> str | frozenset[str]:
        character = self._character("unclosed character class")
        if character != "\\":
            return character
        if self._is_next("v") and (is_end or self._text.startswith("v-", self._at)):
            return self._character("").replace("v", "\v")
        members = self._escaped_class()
        return self._escaped_character() if members is None else members

    def _range(self, first: str, last: str) -> frozenset[str]:
        return self._folded(character for character in ALPHABET if first <= character <= last)

    def _folded(self, characters: Iterable[str]) -> frozenset[str]:
        """Return characters, and with the flag `i` the letters of the other case."""
        members = frozenset(characters)
        return members | frozenset(map(str.swapcase, members)) if self._ignores_case else members


def _set(members: frozenset[str]) -> str:
    """Return a class of Python."""
    return f"[{''.join(map(re.escape, sorted(members)))}]" if members else NEVER
