"""What a broker of a fake cluster can do wrong when it is told to."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Misbehavior"]


class Misbehavior(StrEnum):
    """One way not to answer a request. The connection stays open unless it says otherwise."""

    GARBAGE = "garbage"
    """A frame with the right correlation id, and no sense behind it."""
    NOT_KAFKA = "not kafka"
    """What a web server would say: bytes that are no frame."""
    TRUNCATED_FRAME = "truncated frame"
    """The first half of the right answer, then the end of the connection."""
    STALL = "stall"
    """The first half of the right answer, then nothing."""
    OVERSIZED_FRAME = "oversized frame"
    """A size of 2,147,483,647 bytes, and a few of them."""
    WRONG_CORRELATION = "wrong correlation id"
    """The right answer under the number of another request."""
    NO_RESPONSE = "no response"
    """Nothing."""
    WRONG_VERSION = "wrong version"
    """The right answer, written in another version than was asked for: in the nearest whose bytes are not the same."""
    CLOSE = "close"
    """The end of the connection without a byte."""
