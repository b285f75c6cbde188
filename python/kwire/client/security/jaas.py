"""The grammar of `sasl.jaas.config`: `LoginModule required name="value" ... ;`

Kafka reads it with Java's StreamTokenizer: words, strings in single or double quotes with Java's escapes, and comments.
Java reads a JAAS file in the same way: `Context { LoginModule ...; };`. Errors name options but never show values.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

JAAS_OPTION = "-Djava.security.auth.login.config="
CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<word>[A-Za-z0-9_.$\-\u00a0-\uffff]+)
  | "(?P<double>(?:\\.|[^"\\\n])*)"
  | '(?P<single>(?:\\.|[^'\\\n])*)'
  | (?P<sign>[=;{}])
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
        entry, rest = _parse(list(_tokens(text.reveal())))
    except InvalidJaasConfig as error:
        problem = str(error)
    else:
        if not rest:
            return entry
        problem = "expected exactly one login module"
    raise InvalidJaasConfig(problem)  # without the frames that hold values


def jaas_file(environment: Mapping[str, str]) -> str | None:
    """Return the path of the JAAS file that options of Java's virtual machine name; None if they name none."""
    path = None
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "KAFKA_OPTS"):  # the later one wins, as in Java
        # Java's own splitting is simpler: backslashes, as in paths of Windows, do not escape.
        words = shlex.shlex(environment.get(name, ""), posix=True, punctuation_chars=False)
        words.whitespace_split, words.escape, words.commenters = True, "", ""
        try:
            options = list(words)
        except ValueError:  # a quote that is not closed
            continue
        for option in options:
            if option.startswith(JAAS_OPTION):
                path = option.removeprefix(JAAS_OPTION).removeprefix("=")  # `==` excludes the files of the JVM
    if path is not None and path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    return path or None


def parse_jaas_file(text: Secret, context: str) -> tuple[JaasEntry, ...]:
    """Return the login modules of a context of a JAAS file; none if the file lacks the context.

    Raises:
        InvalidJaasConfig: the text has another form.
    """
    try:
        return _parse_file(text, context)
    except InvalidJaasConfig as error:
        problem = str(error)
    raise InvalidJaasConfig(problem)  # without the frames that hold values


def _parse_file(text: Secret, context: str) -> tuple[JaasEntry, ...]:
    tokens = list(_tokens(text.reveal()))
    found: tuple[JaasEntry, ...] = ()
    while tokens:
        signs = [token.sign for token in tokens[:2]]
        if signs != ["", "{"]:
            raise InvalidJaasConfig(f"expected `Context {{` at character {tokens[0].offset}")
        name, tokens = tokens[0].text.reveal(), tokens[2:]
        entries: list[JaasEntry] = []
        while tokens and tokens[0].sign != "}":
            entry, tokens = _parse(tokens)
            entries.append(entry)
        if [token.sign for token in tokens[:2]] != ["}", ";"]:
            raise InvalidJaasConfig(f"the context {name} does not end with `}};`")
        tokens = tokens[2:]
        if name == context:
            found = tuple(entries)
    for entry in found:
        for option, value in entry.options.items():
            if "${" in value.reveal():
                raise InvalidJaasConfig(f"the option {option} refers to a property of Java, which kwire cannot know")
    return found


def _parse(tokens: Sequence[_Token]) -> tuple[JaasEntry, list[_Token]]:
    """Return the first login module, and the tokens after it."""
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
    return JaasEntry(tokens[0].text.reveal(), options), list(tokens[place + 1 :])


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
