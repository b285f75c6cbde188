"""What the error codes of all dialects have in common.

Rules of this file: the number is what travels, and a number that has no name is kept as it came, never an error of the
codec.
"""

from __future__ import annotations

from enum import IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class CodedError(IntEnum):
    """The base of tables of error codes: a number, a sentence for a person, and whether trying again can help."""

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
        """The code by its name, where it has one here; else the number itself."""
        try:
            return cls(code)
        except ValueError:
            return code
