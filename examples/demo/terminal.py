"""Output of the demo: titles, lines, and steps with their duration; without colors if stdout is not a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from kwire.terminal.colors import paint_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

paint = paint_for(sys.stdout)


class DemoContext(NamedTuple):
    """Shared by the parts of the demo: the folder of the reports, and resources that are closed at the end."""

    pages: Path
    resources: ExitStack


def print_title(text: str) -> None:
    print(f"\n{paint('title', text)}", flush=True)


def print_line(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print a step and how long it took; a terminal also shows the step while it runs."""
    if sys.stdout.isatty():
        print(f"  ..... s  {text}", end="\r", flush=True)
    began = perf_counter()
    yield
    print(f"  {paint('quiet', f'{perf_counter() - began:5.1f} s')}  {text}", flush=True)
