"""Errors of click, which is imported with the first of them: a command without a mistake does without it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    import click

__all__ = ["address_error", "is_abort", "is_usage_error", "usage_error"]


def usage_error(sentence: str) -> click.UsageError:
    """Return the error of a command line."""
    import click

    return click.UsageError(sentence)


def address_error(error: ValueError, source: str = "--bootstrap") -> click.BadParameter:
    """Return the error of an invalid address of a broker, given its source."""
    import click

    return click.BadParameter(str(error), param_hint=source)


def is_usage_error(error: Exception) -> TypeGuard[click.ClickException]:
    """Return whether an error is one of a command line, which click prints."""
    click = sys.modules.get("click")
    return click is not None and isinstance(error, click.ClickException)


def is_abort(error: Exception) -> bool:
    """Return whether an error stands for Ctrl-C or Ctrl-D at a question."""
    click = sys.modules.get("click")
    return click is not None and isinstance(error, click.Abort)
