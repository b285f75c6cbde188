r"""Regular expressions of Kafka's scripts: Java's syntax, translated to Python's `re`.

The alphabet of topic names has 65 characters, all of ASCII. So every class, such as `[a-z&&[^b]]` or `\p{Upper}`,
is the set of the characters of that alphabet that it contains, and flags such as `(?i)` change the sets. What is left,
such as groups and quantifiers, is equal in both syntaxes. The parser follows `java.util.regex.Pattern`, whose quirks
are part of the syntax: `]` and `}` can be literals, and a `{` without something to repeat repeats the empty text.

Refused because Python lacks it, or because it has no use in the names of topics: comments of `(?x)`, look-behind of
variable length, and names of blocks, scripts, and characters of Unicode.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from kwire_admin.compat.topic_classes import PREDEFINED, PropertyUnknown, property_members

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Predicate: TypeAlias = Callable[[str], bool]
    """A set of characters: returns whether it contains one."""

__all__ = ["INTERNAL_TOPICS", "InvalidPattern", "TopicPattern", "UnsupportedPattern", "translate"]

ALPHABET = string.ascii_letters + string.digits + "._-"
"""The characters of names of topics (`org.apache.kafka.common.internals.Topic`)."""
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics of Kafka itself; other names with two underscores are topics like any other."""
MAX_REPETITIONS = 2**31 - 1
SIMPLE_ESCAPES = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
BOUNDARIES = {"A": r"\A", "B": r"\B", "G": r"\A", "Z": r"\Z", "b": r"\b", "z": r"\Z"}
r"""Positions. `matches` starts at the start, so `\G` is only there, and no name ends with the end of a line."""
FLAGS = "imsducxU"
NEVER, ALWAYS = "(?!)", "(?:)"


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
            self._pattern = re.compile(translate(regex))
        except UnsupportedPattern as error:
            raise UnsupportedPattern(f"{text}: kwire does not support {error} in a regular expression") from None
        except (re.error, OverflowError, RecursionError) as error:  # such as look-behind of variable length
            raise UnsupportedPattern(f"{text}: kwire does not support this regular expression: {error}") from None
        except InvalidPattern:
            raise InvalidPattern(f"{regex} is an invalid regex.") from None  # the sentence of Kafka

    def accepts(self, topic: str) -> bool:
        """Return whether the pattern matches the name of a topic."""
        return self._pattern.fullmatch(topic) is not None


def translate(pattern: str) -> str:
    """Return a pattern of Python that matches the same names of topics with `fullmatch`.

    Raises:
        InvalidPattern: Java refuses the pattern, or it cannot be translated.
    """
    parser = _Parser(_without_quotes(pattern))
    translated = parser.alternatives()
    if not parser.is_at_end:
        raise InvalidPattern("unmatched closing )")
    return translated


def _without_quotes(pattern: str) -> str:
    r"""Replace `\Q...\E` with escapes, as Java does before it parses."""
    text, quoted = "", False
    at = 0
    while at < len(pattern):
        pair = pattern[at : at + 2]
        if quoted and pair == "\\E":
            quoted = False
            at += 2
        elif not quoted and pair == "\\Q":
            quoted = True
            at += 2
        elif quoted:
            text += pattern[at] if pattern[at].isalpha() or not pattern[at].isascii() else _quoted(pattern[at])
            at += 1
        else:
            text += pair if pair.startswith("\\") else pair[0]
            at += len(pair) if pair.startswith("\\") else 1
    return text


def _quoted(character: str) -> str:
    # A digit after a backslash would be a reference to a group.
    return f"\\x{ord(character):02x}" if character.isdigit() else f"\\{character}"


class _Parser:
    """A recursive descent over a pattern, in the order of Java's own.

    Attributes:
        flags: the flags at the position, such as `i`.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._groups = 0
        self._open: set[int] = set()
        self._names: dict[str, int] = {}
        self.flags: frozenset[str] = frozenset()

    @property
    def is_at_end(self) -> bool:
        """True behind the last character."""
        return self._at >= len(self._pattern)

    def _peek(self, ahead: int = 0) -> str:
        """Return a character; an empty text behind the end."""
        return self._pattern[self._at + ahead : self._at + ahead + 1]

    def _take(self) -> str:
        character = self._peek()
        self._at += 1
        return character

    def _expect(self, text: str, reason: str) -> None:
        if self._take() != text:
            raise InvalidPattern(reason)

    def alternatives(self) -> str:
        """Translate what `|` separates."""
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return "|".join(parts)

    def _sequence(self) -> str:
        translated = ""
        while not self.is_at_end and self._peek() not in "|)":
            character = self._peek()
            if character in "?*+":
                raise InvalidPattern(f"dangling meta character {character!r}")
            if character == "(":
                item = self._group()
                if item is None:  # flags for the rest of the group
                    continue
            elif character == "{":
                item = ALWAYS
            else:
                item = self._atom()
            translated += self._repeated(item)
        return translated

    def _atom(self) -> str:
        match self._take():
            case "[":
                self._at -= 1
                return _set(self._class(is_consumed=True))
            case ".":
                return _set(lambda _: True)
            case "^":
                return r"\A"
            case "$":
                return r"\Z"
            case "\\":
                escaped = self._escape(in_class=False)
                return escaped if isinstance(escaped, str) else _set(escaped)
            case character:
                return _set(self._single(character))

    def _repeated(self, item: str) -> str:
        match self._peek():
            case "?" | "*" | "+":
                quantifier = self._take()
            case "{":
                quantifier = self._counted()
            case _:
                return item
        if self._peek() and self._peek() in "?+":
            quantifier += self._take()
        return f"(?:{item}){quantifier}"

    def _counted(self) -> str:
        self._at += 1
        least = self._number("illegal repetition")
        most: int | None = least
        if self._peek() == ",":
            self._at += 1
            most = None if self._peek() == "}" else self._number("illegal repetition")
        self._expect("}", "unclosed counted closure")
        if most is not None and most < least:
            raise InvalidPattern("illegal repetition range")
        return f"{{{least}}}" if most == least else f"{{{least},{'' if most is None else most}}}"

    def _number(self, reason: str) -> int:
        digits = ""
        while self._peek() and self._peek() in string.digits:
            digits += self._take()
        if not digits or len(digits) > 10 or int(digits) > MAX_REPETITIONS:
            raise InvalidPattern(reason)
        return int(digits)

    # Groups

    def _group(self) -> str | None:
        """Translate a group; None for flags that count until the end of the group around them."""
        self._at += 1
        outer = self.flags
        if self._peek() != "?":
            return self._captured("", outer)
        self._at += 1
        match self._take():
            case ":" | "=" | "!" | ">" as kind:
                return self._closed(f"(?{kind}", outer)
            case "<" if self._peek() in ("=", "!"):
                return self._closed(f"(?<{self._take()}", outer)
            case "<":
                return self._captured(self._name(), outer)
            case _:
                self._at -= 1
        self._read_flags()
        if self._peek() == ")":
            self._at += 1
            return None
        self._expect(":", "unknown inline modifier")
        return self._closed("(?:", outer)

    def _captured(self, name: str, outer: frozenset[str]) -> str:
        if name in self._names:
            raise InvalidPattern(f"named capturing group <{name}> is already defined")
        self._groups += 1
        number = self._groups
        if name:
            self._names[name] = number
        self._open.add(number)
        group = self._closed("(", outer)
        self._open.discard(number)
        return group

    def _closed(self, start: str, outer: frozenset[str]) -> str:
        content = self.alternatives()
        self._expect(")", "unclosed group")
        self.flags = outer
        return f"{start}{content})"

    def _name(self) -> str:
        name = ""
        while self._peek().isascii() and self._peek().isalnum():
            name += self._take()
        if not name or name[0].isdigit():
            raise InvalidPattern("capturing group name does not start with a Latin letter")
        self._expect(">", "named capturing group is missing trailing '>'")
        return name

    def _read_flags(self) -> None:
        is_set = True
        while (flag := self._peek()) and (flag in FLAGS or (flag == "-" and is_set)):
            self._at += 1
            if flag == "-":
                is_set = False
            elif is_set and flag in "xc":
                raise UnsupportedPattern(f"the flag {flag}")
            else:
                self.flags = self.flags | {flag} if is_set else self.flags - {flag}

    def _reference(self, number: int) -> str:
        if not 0 < number <= self._groups or number in self._open:
            raise UnsupportedPattern(f"a reference to group {number}, which is not complete before it")
        return f"(?i:(?:\\{number}))" if "i" in self.flags else f"(?:\\{number})"

    # Escapes and classes

    def _escape(self, *, in_class: bool) -> str | Predicate:
        """Translate an escape: a set of characters, or the pattern of a position or a reference."""
        character = self._take()
        if character in ("p", "P"):
            return self._property(is_complement=character == "P")
        if character and character.lower() in PREDEFINED:
            members = PREDEFINED[character.lower()]
            return (lambda each: each in members) if character.islower() else (lambda each: each not in members)
        if not in_class and character:
            if character in "123456789":
                return self._reference(self._group_number(int(character)))
            if character == "b" and self._peek() + self._peek(1) == "{g":
                raise UnsupportedPattern("\\b{g}")
            if character in BOUNDARIES:
                return BOUNDARIES[character]
            if character == "R":
                return NEVER
            if character == "X":
                return _set(lambda _: True)
            if character == "k":
                self._expect("<", "\\k is not followed by '<' for named capturing group")
                name = self._name()
                if name not in self._names:
                    raise InvalidPattern(f"named capturing group <{name}> does not exist")
                return self._reference(self._names[name])
        return self._single(self._escaped_character(character))

    def _group_number(self, number: int) -> int:
        while self._peek() and self._peek() in string.digits and number * 10 + int(self._peek()) <= self._groups:
            number = number * 10 + int(self._take())
        return number

    def _escaped_character(self, character: str) -> str:
        if character in SIMPLE_ESCAPES:
            return SIMPLE_ESCAPES[character]
        match character:
            case "0":
                return self._octal()
            case "x" if self._peek() == "{":
                end = self._pattern.find("}", self._at)
                digits, self._at = self._pattern[self._at + 1 : max(end, self._at)], end + 1
                return self._code_point(digits if end > 0 else "", len(digits))
            case "x" | "u":
                size = 2 if character == "x" else 4
                digits = self._pattern[self._at : self._at + size]
                self._at += size
                return self._code_point(digits, size)
            case "c" if not self.is_at_end:
                return chr(ord(self._take()) ^ 64)
        if not character or (character.isascii() and character.isalnum()):
            raise InvalidPattern("illegal/unsupported escape sequence")
        return character

    @staticmethod
    def _code_point(digits: str, size: int) -> str:
        if not digits or len(digits) != size or any(digit not in string.hexdigits for digit in digits):
            raise InvalidPattern("illegal hexadecimal escape sequence")
        if int(digits, 16) > 0x10FFFF:
            raise InvalidPattern("hexadecimal codepoint is too big")
        return chr(int(digits, 16))

    def _octal(self) -> str:
        digits = ""
        while len(digits) < 3 and self._peek() and self._peek() in "01234567" and int(digits + self._peek(), 8) < 256:
            digits += self._take()
        if not digits:
            raise InvalidPattern("illegal octal escape sequence")
        return chr(int(digits, 8))

    def _property(self, *, is_complement: bool) -> Predicate:
        name = self._take()
        if name == "{":
            end = self._pattern.find("}", self._at)
            if end < 0:
                raise InvalidPattern("unclosed character family")
            name, self._at = self._pattern[self._at : end], end + 1
        try:
            members = property_members(name, ignore_case="i" in self.flags, is_unicode="U" in self.flags)
        except PropertyUnknown as error:
            if name.startswith(("In", "Is", "java")) or "=" in name:  # Java has more of these than this module
                raise UnsupportedPattern(f"the property {name}") from None
            raise InvalidPattern(str(error)) from None
        return (lambda each: each not in members) if is_complement else (lambda each: each in members)

    def _single(self, character: str) -> Predicate:
        return self._range(character, character)

    def _range(self, first: str, last: str) -> Predicate:
        if "i" not in self.flags:
            return lambda each: first <= each <= last
        if not (first.isascii() and last.isascii()) and self.flags & {"u", "U"}:
            raise UnsupportedPattern("characters beyond ASCII without regard to case")
        return lambda each: any(first <= variant <= last for variant in {each, each.lower(), each.upper()})

    def _class(self, *, is_consumed: bool) -> Predicate:
        """Parse a class from its `[` on, or the rest of one behind `&&`.

        Single characters are collected apart, as in Java: what an intersection has taken up can still grow by them.
        """
        is_complement = False
        self._at += 1
        if self._peek() == "^" and self._pattern[self._at - 1] == "[":
            is_complement = True
            self._at += 1
        singles: list[Predicate] = []
        has_singles = False
        whole: Predicate | None = None
        part: Predicate | None = None

        def collected(each: str) -> bool:
            return any(single(each) for single in singles)

        while True:
            character = self._peek()
            if character == "[":
                part = self._class(is_consumed=True)
                whole = part if whole is None else _union(whole, part)
                continue
            if character == "&" and self._peek(1) == "&":
                self._at += 2
                right = self._right_side()
                if has_singles:
                    part = collected if whole is None else part
                    whole = collected if whole is None else _union(whole, collected)
                    has_singles = False
                part = right or part
                if whole is None and right is None:
                    raise InvalidPattern("bad class syntax")
                if whole is not None and part is None:
                    raise InvalidPattern("bad intersection syntax")
                whole = right if whole is None else _both(whole, part or whole)
                continue
            if not character:
                raise InvalidPattern("unclosed character class")
            if character == "]" and (whole is not None or has_singles):
                self._at += is_consumed
                result = whole if whole is not None else collected
                result = _union(result, collected) if has_singles else result
                return _complement(result) if is_complement else result
            item, is_single = self._class_item()
            if is_single:
                singles.append(item)
                has_singles = True
            else:
                part = item
                whole = item if whole is None else _union(whole, item)

    def _right_side(self) -> Predicate | None:
        right: Predicate | None = None
        while self._peek() not in ("]", "&"):
            if self._peek() == "[":
                part = self._class(is_consumed=True)
            else:
                self._at -= 1
                part = self._class(is_consumed=False)
            right = part if right is None else _union(right, part)
        return right

    def _class_item(self) -> tuple[Predicate, bool]:
        """Parse a character, range, or escape of a class, and return whether it is a single character."""
        first = self._class_character()
        if not isinstance(first, str):
            return first, False
        if self._peek() == "-" and self._peek(1) not in ("[", "]"):
            self._at += 1
            last = self._class_character(is_range=True)
            if not isinstance(last, str) or last < first:
                raise InvalidPattern("illegal character range")
            return self._range(first, last), False
        return self._single(first), True

    def _class_character(self, *, is_range: bool = False) -> str | Predicate:
        character = self._take()
        if not character:
            raise InvalidPattern("unclosed character class")
        if character != "\\":
            return character
        following = self._peek()
        if following == "v" and (is_range or self._peek(1) == "-"):
            self._at += 1
            return "\v"
        if following and (following in "pP" or following.lower() in PREDEFINED):
            escaped = self._escape(in_class=True)
            assert not isinstance(escaped, str), "classes cannot contain positions and references"
            return escaped
        return self._escaped_character(self._take())


def _union(one: Predicate, other: Predicate) -> Predicate:
    return lambda each: one(each) or other(each)


def _both(one: Predicate, other: Predicate) -> Predicate:
    return lambda each: one(each) and other(each)


def _complement(predicate: Predicate) -> Predicate:
    return lambda each: not predicate(each)


def _set(predicate: Predicate) -> str:
    """Return a class of Python with the characters of names of topics that a predicate accepts."""
    members = [re.escape(character) for character in ALPHABET if predicate(character)]
    if not members:
        return NEVER
    return members[0] if len(members) == 1 else f"[{''.join(members)}]"
