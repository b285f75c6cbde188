"""Java properties files, as Kafka reads `server.properties` and `client.properties`."""

from __future__ import annotations

import re

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {character: f"\\{letter}" for letter, character in _ESCAPES.items()}


def parse_properties(text: str) -> dict[str, str]:
    """Parse `key=value`, `key: value`, and `key value` lines, with comments and continued lines.

    If a key is repeated, the last value counts, as in Java. Spaces after a value are dropped, as in Kafka.
    """
    return dict(property_lines(text))


def property_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of each line, repeated keys included. See `parse_properties`."""
    for line in _logical_lines(text):
        match = re.fullmatch(r"((?:\\.|[^ \t\f=:\\])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
        assert match is not None, "every line matches: key and value may be empty"
        yield _unescape(match[1]), _unescape(match[2]).rstrip(" \t\f")


def format_properties(properties: Mapping[str, str]) -> str:
    """Return the text of a properties file, in ASCII."""
    return "".join(f"{_escape(name)}={_escape(value)}\n" for name, value in properties.items())


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines without indentation, comments, and blank lines; an odd number of backslashes continues a line."""
    unfinished: str | None = None
    for natural_line in re.split(r"\r\n|\r|\n", text):
        line = natural_line.lstrip(" \t\f")
        if unfinished is None and (not line or line[0] in "#!"):
            continue
        line = (unfinished or "") + line
        unfinished = None
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            unfinished = line[:-1]
        else:
            yield line
    if unfinished is not None:
        yield unfinished


def _unescape(text: str) -> str:
    """Replace Java's escapes. A backslash before another character is dropped, as is one at the end."""
    unescaped = re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.?))",
        lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2]),
        text,
        flags=re.DOTALL,
    )
    # Java writes characters beyond the Basic Multilingual Plane as surrogate pairs.
    return unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str) -> str:
    escaped = ""
    for character in text:
        if character in _ESCAPED:
            escaped += _ESCAPED[character]
        elif character in "\\=:#!":
            escaped += "\\" + character
        elif " " < character <= "~":
            escaped += character
        else:
            units = character.encode("utf-16-be", "surrogatepass")
            escaped += "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return escaped
