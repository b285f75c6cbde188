"""A benchmark as a program."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benches.figure import Figure


def print_figures(run: Callable[[bool], Iterable[Figure]], name: str, description: str, quick: str) -> None:
    """Run a benchmark with the arguments of the process, and print its figures.

    Args:
        run: returns the figures; its argument is whether `--quick` is given.
        name: the name of the module in `benches`.
        description: the measured quantity, for its help.
        quick: the effect of `--quick`, for its help.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benches.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help=quick)
    for figure in run(parser.parse_args().quick):
        print(figure)
