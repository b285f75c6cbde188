"""Types of parameters that click lacks."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import click

from kwire._util.light_typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from click.types import ParamType

__all__ = ["Duration", "FiniteRange", "Named", "Time"]


class FiniteRange(click.FloatRange):
    """A range of numbers that rejects `nan` and `inf`, which `click.FloatRange` accepts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Duration(click.ParamType[float]):
    """A duration as a number with the unit s, m, h, or d; in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)", str(value))
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not 0 < seconds <= _LONGEST_S:
            self.fail(
                f"{value!r} is not a duration: expected a number above 0 with s, m, h, or d, such as 30s, up to 100"
                " years",
                param,
                ctx,
            )
        return seconds


_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_LONGEST_S = 36_525 * 86_400
"""A hundred years in seconds: Python has no times that are much further away."""


class Time(click.DateTime):
    """A time in ISO 8601; UTC unless it has an offset."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is not a valid time: expected 2026-11-21T14:05, optionally with seconds and an offset"
                " such as +01:00",
                param,
                ctx,
            )
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


class Named(click.ParamType[Any]):
    """A value that a shell completes with names.

    Args:
        completes: the kind of the names: one of a cluster, such as `topics`, or `messages`, `clusters`, or `files`.
        of: the type of the value.
    """

    def __init__(self, completes: str, of: ParamType[Any] | type = str) -> None:
        self.completes = completes
        self._of = click.types.convert_type(of)
        self.name = self._of.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._of.convert(value, param, ctx)
