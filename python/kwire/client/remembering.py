"""The one place that makes decoders which remember the last answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import kwire
from kwire.client.comparison import Changes, Comparison, compare

if TYPE_CHECKING:
    from kwire.declare import Message

__all__ = ["RemembersAnswers", "decoder"]


class RemembersAnswers(Protocol):
    """``kwire.Decoder``."""

    @property
    def changed(self) -> Changes:
        """What is different in the last answer."""

    def decode(self, data: memoryview) -> Any:
        """Raises DecodeError."""


class _Comparing:
    """Decodes whole, and compares whole."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self._cls = cls
        self._version = version
        self._last: Message | None = None
        self.changed: Comparison = Comparison(first=True, fields=(), arrays={})

    def decode(self, data: memoryview) -> Message:
        message = kwire.decode(self._cls, data, version=self._version)
        self.changed = compare(self._last, message)
        self._last = message
        return message


def decoder(cls: type[Message], version: int) -> RemembersAnswers:
    """For the answers of one broker to one request."""
    return _Comparing(cls, version)
