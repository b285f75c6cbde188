"""The engine behind ``kwire``, written in Rust; public through that package only."""

from collections.abc import Sequence
from typing import Any, final

from kwire.declare import Message, Struct

__all__ = ["Plan", "adopt"]

@final
class Plan:
    """A message at one version, ready to decode and encode.

    ``text``: a plan, in the grammar of ``docs/plans.md``. ``structs``: for each struct that it opens, in that order,
    the class, and the defaults of the fields that the plan says are absent. Raises ValueError for a text that is no
    plan.
    """

    def __new__(cls, text: str, structs: Sequence[tuple[type[Struct], dict[str, Any]]]) -> Plan: ...
    @property
    def text(self) -> str:
        """The plan's text."""
    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Bytes-like to object: an instance of the first struct's class. Raises DecodeError."""
    def encode(self, message: Message) -> bytes:
        """Object to bytes. Raises EncodeError."""
    def validate(self, data: bytes | bytearray | memoryview) -> None:
        """Bytes-like to nothing, or to what is wrong with it. Raises DecodeError."""

def adopt(cls: type[Struct], names: tuple[str, ...]) -> bool:
    """Take the collector's header from a class that has no instances yet, and give it native equality and hash.

    ``names``: of its fields, in order. False, and nothing done, for a class that cannot do without the header.
    """
