"""Options for the further inputs of a poller: each names the interval of one input."""

from __future__ import annotations

import click

from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.polled_inputs import INPUTS
from kwire.terminal.parameter_types import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound="Callable[..., object]")


def polled_input_options(command: C) -> C:
    """Add an option for each of `INPUTS`, in their order; its value is the interval in seconds, or None."""
    for name, polled in reversed(INPUTS.items()):
        option = click.option(
            f"--{name.replace('_', '-')}",
            type=FiniteRange(min=1),
            metavar="SECONDS",
            help=f"Also poll {polled.doc} at this interval.",
        )
        command = option(command)
    return command
