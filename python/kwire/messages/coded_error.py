"""Base class of error code tables.

Messages hold error codes as plain ints. A code without a name is not an error of the codec.
"""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class CodedError(IntEnum):
    """An error code with a description and whether a retry can succeed."""

    text: str
    retriable: bool

    def __new__(cls, code: int, text: str = "", retriable: bool = False) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.retriable = retriable
        return member

    @classmethod
    def of(cls, code: int) -> Self | int:
        """Return the code as a member if the table has it, otherwise the number itself."""
        try:
            return cls(code)
        except ValueError:
            return code
