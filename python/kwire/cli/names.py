"""Message classes by what a person calls them: ``MetadataResponse``; ``Metadata`` or ``3`` where the kind is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.declare.introspect import describe
from kwire.messages import UnknownMessage, every, find

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.messages import Kind

DIALECTS = ("kafka", "kip4")


class UnknownName(UnknownMessage):
    """No message has this name. ``hint``: which other was perhaps meant, as a sentence; may be empty."""

    def __init__(self, dialect: str, name: str, hint: str) -> None:
        super().__init__(dialect, name=name)
        self.args = (dialect, name, hint)
        self.hint = hint

    def __str__(self) -> str:
        return f"Dialect {self.dialect} has no message {self.name!r}.{' ' if self.hint else ''}{self.hint}"


def named(name: str, dialect: str, *, version: int | None = None, kind: Kind | None = None) -> type[Message]:
    """The class of a name. Where several share a name and split its versions, the one with ``version``."""
    found = _by_key_or_name(name, dialect, kind)
    if version is not None and version not in found.versions:
        for cls in every(dialect):
            # CreateTopicRequest_V2 is what CreateTopicRequest is in version 2.
            if cls.__name__.partition("_")[0] == found.__name__ and version in cls.versions:
                return cls
    return found


def named_both(name: str, dialect: str) -> list[type[Message]]:
    """The classes of a name: request and response where only the API is named."""
    try:
        return [named(name, dialect)]
    except UnknownName:
        both = [cls for cls in every(dialect) if _stem(cls) == name or str(cls.api_key) == name]
        if not both:
            raise
        return both


def suggestion(name: str, dialect: str) -> str:
    """Which message was perhaps meant by a name that is none; empty where nothing comes close."""
    for other in DIALECTS:
        if other != dialect and any(name in (cls.__name__, _stem(cls)) for cls in every(other)):
            return f"Dialect {other} has: try --dialect {other}."
    from difflib import get_close_matches

    known: dict[str, list[str]] = {}
    for cls in every(dialect):
        for spelled in (cls.__name__, _stem(cls)):
            known.setdefault(spelled.lower(), []).append(cls.__name__)
    close = [name.lower()] if name.lower() in known else get_close_matches(name.lower(), known, n=2, cutoff=0.7)
    meant = dict.fromkeys(spelled for low in close for spelled in known[low])
    return f"Did you mean {' or '.join(meant)}?" if meant else "`kwire messages` lists them."


def _by_key_or_name(name: str, dialect: str, kind: Kind | None) -> type[Message]:
    if name.isdigit() and kind is not None:
        return find(dialect, api_key=int(name), kind=kind)
    for spelled in (name, *((f"{name}{kind.capitalize()}",) if kind else ())):
        try:
            return find(dialect, name=spelled)
        except UnknownMessage:
            pass
    raise UnknownName(dialect, name, suggestion(name, dialect))


def _stem(cls: type[Message]) -> str:
    """The name of an API, of its request or response."""
    kind = describe(cls).kind
    return cls.__name__.partition("_")[0].removesuffix(kind.capitalize())
