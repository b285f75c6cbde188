"""Protocol violations that brokers of a fake cluster can commit."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Misbehavior"]


class Misbehavior(StrEnum):
    """A wrong reaction to a request. The connection stays open unless stated otherwise."""

    GARBAGE = "garbage"
    """A response with the right correlation id and a body that cannot be decoded."""
    NOT_KAFKA = "not kafka"
    """An HTTP response instead of a frame."""
    TRUNCATED_FRAME = "truncated frame"
    """The first half of the right response, then the connection is closed."""
    STALL = "stall"
    """The first half of the right response, then nothing."""
    OVERSIZED_FRAME = "oversized frame"
    """A frame size of 2,147,483,647 bytes, followed by a few bytes."""
    WRONG_CORRELATION = "wrong correlation id"
    """The right response with the correlation id of another request."""
    NO_RESPONSE = "no response"
    """Nothing."""
    WRONG_VERSION = "wrong version"
    """The right response in another version: the nearest one with different bytes."""
    CLOSE = "close"
    """The connection is closed without a response."""
