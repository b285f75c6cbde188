"""What an admin client raises, beside the faults of its connections (``kwire.protocol.errors``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AdminError", "NoController", "NotSeenInTime"]


class AdminError(KwireError):
    """A broker refused something. ``code``: of the protocol; ``item``: the topic or tool; ``text``: for a person.

    ``attempts``: how often it was asked. After the first attempt the code may tell of that attempt's own effect: a
    topic that "exists already" may be the one that was made when the answer was lost.
    """

    def __init__(self, code: int, item: str, text: str | None = None, attempts: int = 1) -> None:
        super().__init__(code, item, text, attempts)
        self.code = code
        self.item = item
        self.text = text or described(code)
        self.attempts = attempts

    def __str__(self) -> str:
        again = f" (asked {self.attempts} times: an earlier attempt may have had effect)" if self.attempts > 1 else ""
        return f"{self.item or 'the request'}: {self.text} (error {self.code}){again}"


class NoController(KwireError):
    """No broker named a controller in time. ``seconds``; ``asked``: by broker, what it said instead."""

    def __init__(self, seconds: float, asked: Mapping[str, str]) -> None:
        super().__init__(seconds, dict(asked))
        self.seconds = seconds
        self.asked = dict(asked)

    def __str__(self) -> str:
        said = "; ".join(f"{broker}: {what}" for broker, what in self.asked.items()) or "no broker is known"
        return f"no controller was found within {self.seconds:g} s ({said})"


class NotSeenInTime(KwireError):
    """Not every broker told of a change in time. ``what``; ``seconds``; ``missing``: by broker, what it lacks."""

    def __init__(self, what: str, seconds: float, missing: Mapping[str, Sequence[str]]) -> None:
        super().__init__(what, seconds, {broker: list(items) for broker, items in missing.items()})
        self.what = what
        self.seconds = seconds
        self.missing = {broker: list(items) for broker, items in missing.items()}

    def __str__(self) -> str:
        parts = (
            f"{broker}: {', '.join(items[:3])}{f' and {len(items) - 3} more' if len(items) > 3 else ''}"
            for broker, items in self.missing.items()
        )
        return f"not {self.what} within {self.seconds:g} s: {'; '.join(parts)}"


def described(code: int) -> str:
    """What a code means; of an unknown one, its number."""
    try:
        return ErrorCode(code).text
    except ValueError:
        return f"error {code}"
