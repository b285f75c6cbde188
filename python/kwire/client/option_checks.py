"""Refuses what an option cannot mean, before anything is asked because of it.

Rules of this file: TypeError for what is no such thing, ValueError for what lies outside; both name the option.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["check_choice", "check_count", "check_seconds"]


def check_seconds(option: str, value: object, *, endless: bool = False) -> None:
    """Refuse what is no number above 0. ``endless``: infinity is one."""
    if not isinstance(value, int | float):
        raise TypeError(f"{option} is {value!r}: it must be a number of seconds")
    if not value > 0 or (math.isinf(value) and not endless):
        raise ValueError(f"{option} is {value!r}: it must be a number of seconds above 0")


def check_count(option: str, value: object) -> None:
    """Refuse what is no whole number above 0."""
    if not isinstance(value, int):
        raise TypeError(f"{option} is {value!r}: it must be a whole number")
    if value < 1:
        raise ValueError(f"{option} is {value!r}: it must be at least 1")


def check_choice(option: str, value: object, choices: Collection[object]) -> None:
    """Refuse what is none of these."""
    if value not in choices:
        raise ValueError(f"{option} is {value!r}: it must be one of {', '.join(map(repr, choices))}")
