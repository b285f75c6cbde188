"""Lookup of message classes by the names that people use.

A message is named by its class (`MetadataResponse`) or, where the kind is known, by its API (`Metadata`) or API key
(`3`). Upper and lower case do not matter.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.messages import UnknownMessage, api_name, every, find

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.messages import Kind

DIALECTS = ("kafka", "kip4")


class UnknownName(UnknownMessage):
    """A name that no message has.

    Attributes:
        hint: a sentence about similar names, or about where to find the names.
    """

    def __init__(self, dialect: str, name: str, hint: str) -> None:
        super().__init__(dialect, name=name)
        self.args = (dialect, name, hint)
        self.hint = hint

    def __str__(self) -> str:
        return f"dialect {self.dialect} has no message {self.name!r}: {self.hint}"


def find_by_name(name: str, dialect: str, *, version: int | None = None, kind: Kind | None = None) -> type[Message]:
    """Return the class with a name; where several classes share its versions, the one with `version`."""
    message = _find_by_key_or_name(name, dialect, kind)
    if version is not None and version not in message.versions:
        for cls in every(dialect):
            # Version 2 of CreateTopicRequest is a class of its own: CreateTopicRequest_V2.
            if cls.__name__.partition("_")[0] == message.__name__ and version in cls.versions:
                return cls
    return message


def find_all_by_name(name: str, dialect: str) -> list[type[Message]]:
    """Return the classes with a name: both request and response for the name or key of an API."""
    try:
        return [find_by_name(name, dialect)]
    except UnknownName:
        lower = name.lower()
        classes = [cls for cls in every(dialect) if lower in (api_name(cls).lower(), str(cls.api_key))]
        if not classes:
            raise
        return classes


def _suggestion(name: str, dialect: str) -> str:
    """Return a hint for an unknown name."""
    for other in DIALECTS:
        if other != dialect and any(name in (cls.__name__, api_name(cls)) for cls in every(other)):
            return f"dialect {other} has it, try --dialect {other}"
    from difflib import get_close_matches

    names: dict[str, list[str]] = {}
    for cls in every(dialect):
        for spelling in (cls.__name__, api_name(cls)):
            names.setdefault(spelling.lower(), []).append(cls.__name__)
    close = [name.lower()] if name.lower() in names else get_close_matches(name.lower(), names, n=2, cutoff=0.7)
    similar = dict.fromkeys(spelling for lower in close for spelling in names[lower])
    return f"did you mean {' or '.join(similar)}?" if similar else "`kwire messages` lists all messages"


def _find_by_key_or_name(name: str, dialect: str, kind: Kind | None) -> type[Message]:
    if name.isdigit() and kind is not None:
        return find(dialect, api_key=int(name), kind=kind)
    for spelling in (name, *((f"{name}{kind.capitalize()}",) if kind else ())):
        try:
            return find(dialect, name=spelling)
        except UnknownMessage:
            pass
    lower = (name.lower(), f"{name.lower()}{kind or ''}")
    for cls in every(dialect):  # imports all messages, so only for a name that no message has as it is written
        if cls.__name__.lower() in lower:
            return cls
    raise UnknownName(dialect, name, _suggestion(name, dialect))
