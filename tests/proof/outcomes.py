"""Outcomes of a codec call, in a form that can be compared between codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire import DecodeError, EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable


class Outcome(NamedTuple):
    """The returned value, or the facts of the error that the codecs must agree on."""

    value: Any
    fault: tuple[Any, ...] | None


def outcome(call: Callable[..., Any], *arguments: Any, version: int) -> Outcome:
    """Call a codec function. Exceptions other than kwire's end the test."""
    try:
        return Outcome(call(*arguments, version=version), None)
    except DecodeError as error:
        return Outcome(None, (DecodeError, error.kind, error.offset, error.path, error.wanted, error.left))
    except EncodeError as error:
        return Outcome(None, (EncodeError, error.kind, error.path))
