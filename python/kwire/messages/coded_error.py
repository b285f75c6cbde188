"""Base class of error code tables."""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class CodedError(IntEnum):
    """An error code.

    Attributes:
        message: the description.
        retriable: true if a repeated request may succeed.
    """

    message: str
    retriable: bool

    def __new__(cls, code: int, message: str = "", retriable: bool = False) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = retriable
        return member

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Return a member that is not in the table. Any number has one: a broker decides which codes it sends."""
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        member.message = "the error code is unknown to this client"
        member.retriable = False
        return member
