"""What a codec did with an input, in a form that can be compared with what the other did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire import DecodeError, EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable


class Outcome(NamedTuple):
    """``value``: what was returned; ``fault``: what was raised, all of it that codecs must agree on."""

    value: Any
    fault: tuple[Any, ...] | None


def outcome(call: Callable[..., Any], *arguments: Any, version: int) -> Outcome:
    """Only kwire's own errors are outcomes; any other ends the test."""
    try:
        return Outcome(call(*arguments, version=version), None)
    except DecodeError as error:
        return Outcome(None, (DecodeError, error.kind, error.offset, error.path, error.wanted, error.left))
    except EncodeError as error:
        return Outcome(None, (EncodeError, error.kind, error.path))
