"""The grammar of `sasl.jaas.config`: `LoginModule required name="value" ... ;`

Kafka reads it with Java's StreamTokenizer: words, strings in single or double quotes with Java's escapes, and comments.
Errors name options but never show values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire._util.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["InvalidJaasConfig", "JaasEntry", "parse_jaas"]

CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<word>[A-Za-z0-9_.$\-\u00a0-\uffff]+)
  | "(?P<double>(?:\\.|[^"\\\n])*)"
  | '(?P<single>(?:\\.|[^'\\\n])*)'
  | (?P<sign>[=;])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class InvalidJaasConfig(ValueError):
    """The text is not a JAAS configuration. The message contains no values."""


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module.

    Attributes:
        module: the name of its class.
        options: its options; every value may be a secret.
    """

    module: str
    options: Mapping[str, Secret]

    @property
    def module_name(self) -> str:
        """The name of the class without its package."""
        return self.module.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class _Token:
    """A sign, or the text of a word or string, which may be secret."""

    sign: str
    text: Secret
    offset: int


def parse_jaas(text: Secret) -> JaasEntry:
    """Parse the value of `sasl.jaas.config`, which has exactly one login module.

    Raises:
        InvalidJaasConfig: the text has another form.
    """
    try:
        return _parse(text)
    except InvalidJaasConfig as error:
        problem = str(error)
    raise InvalidJaasConfig(problem)  # without the frames that hold values


def _parse(text: Secret) -> JaasEntry:
    tokens = list(_tokens(text.reveal()))
    if len(tokens) < 2 or tokens[0].sign or tokens[1].sign:
        raise InvalidJaasConfig('expected `LoginModule required name="value";`')
    if tokens[1].text.reveal().lower() not in CONTROL_FLAGS:
        raise InvalidJaasConfig(f"expected {', '.join(CONTROL_FLAGS[:-1])}, or optional after the login module")
    options: dict[str, Secret] = {}
    place = 2
    while place < len(tokens) and tokens[place].sign != ";":
        if tokens[place].sign:
            raise InvalidJaasConfig(f"expected the name of an option at character {tokens[place].offset}")
        name = tokens[place].text.reveal()
        following = tokens[place + 1 : place + 3]
        if len(following) < 2 or following[0].sign != "=" or following[1].sign:
            raise InvalidJaasConfig(f'expected ="value" after the option at character {tokens[place].offset}')
        options[name] = following[1].text
        place += 3
    if place == len(tokens):
        raise InvalidJaasConfig("the login module does not end with a semicolon")
    if place + 1 < len(tokens):
        raise InvalidJaasConfig("expected exactly one login module")
    return JaasEntry(tokens[0].text.reveal(), options)


def _tokens(text: str) -> Iterator[_Token]:
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise InvalidJaasConfig(f"unexpected character or unterminated string at character {offset}")
        if match["sign"]:
            yield _Token(match["sign"], Secret(""), offset)
        elif match["word"]:
            yield _Token("", Secret(match["word"]), offset)
        elif match["space"] is None:
            yield _Token("", Secret(_unescape(match["double"] or match["single"] or "")), offset)
        offset = match.end()


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        escaped = match[1]
        return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPES.get(escaped, escaped)

    return _ESCAPE.sub(character, text)
