"""How all parts of the demo speak: titles, steps with their time, and lists that are cut.

Rules of this file: to stdout, plain when it is no terminal; a step is told when it is done, with the time that it took.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from kwire.cli.colors import paint_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

paint = paint_for(sys.stdout)


class Stage(NamedTuple):
    """What the parts of a demo share. ``pages``: a folder for what stays; ``until_the_end``: closes what they share."""

    pages: Path
    until_the_end: ExitStack


def title(text: str) -> None:
    print(f"\n{paint('title', text)}", flush=True)


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Something that takes a while: a terminal shows at once what is being done."""
    if sys.stdout.isatty():
        print(f"  ..... s  {text}", end="\r", flush=True)
    began = perf_counter()
    yield
    print(f"  {paint('quiet', f'{perf_counter() - began:5.1f} s')}  {text}", flush=True)
