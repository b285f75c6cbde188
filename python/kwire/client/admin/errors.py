"""The errors of an admin client, besides those of its connections (`kwire.protocol.errors`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AdminError", "ChangeTimeout", "ControllerNotFound"]


class AdminError(KwireError):
    """A broker rejected a request, or the part of it that concerns one topic.

    Attributes:
        code: the error code of KIP-4.
        item: the topic or tool; empty for the whole request.
        text: a description of the error.
        attempts: how often the request was sent. After the first attempt, the error may be the result of an earlier
            one: a topic that already exists may have been created by an attempt that lost its response.
    """

    def __init__(self, code: int, item: str, text: str | None = None, attempts: int = 1) -> None:
        super().__init__(code, item, text, attempts)
        self.code = code
        self.item = item
        self.text = text or describe(code)
        self.attempts = attempts

    def __str__(self) -> str:
        retried = f" (sent {self.attempts} times: an earlier attempt may have succeeded)" if self.attempts > 1 else ""
        return f"{self.item or 'the request'}: {self.text} (error {self.code}){retried}"


class ControllerNotFound(KwireError):
    """No broker named a controller in time.

    Attributes:
        seconds: the timeout.
        failures: by broker, why it did not name one.
    """

    def __init__(self, seconds: float, failures: Mapping[str, str]) -> None:
        super().__init__(seconds, dict(failures))
        self.seconds = seconds
        self.failures = dict(failures)

    def __str__(self) -> str:
        reasons = "; ".join(f"{broker}: {why}" for broker, why in self.failures.items()) or "no broker responded"
        return f"no controller found within {self.seconds:g} s ({reasons})"


class ChangeTimeout(KwireError):
    """Not every broker reported a change in time.

    Attributes:
        change: the change, in past tense.
        seconds: the timeout.
        missing: by broker, what it lacks.
    """

    def __init__(self, change: str, seconds: float, missing: Mapping[str, Sequence[str]]) -> None:
        super().__init__(change, seconds, {broker: list(items) for broker, items in missing.items()})
        self.change = change
        self.seconds = seconds
        self.missing = {broker: list(items) for broker, items in missing.items()}

    def __str__(self) -> str:
        parts = (
            f"{broker}: {', '.join(items[:3])}{f' and {len(items) - 3} more' if len(items) > 3 else ''}"
            for broker, items in self.missing.items()
        )
        return f"not {self.change} within {self.seconds:g} s: {'; '.join(parts)}"


def describe(code: int) -> str:
    """Return the text of an error code, or its number if the code is unknown."""
    try:
        return ErrorCode(code).text
    except ValueError:
        return f"error {code}"
