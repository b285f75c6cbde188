"""A benchmark as a program, and the process of the cluster that it measures against."""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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


@contextmanager
def fake_cluster(program: str, *numbers: int) -> Iterator[str]:
    """Run a program that prints the bootstrap servers of its cluster and ends with its input, and return them."""
    command = [sys.executable, "-c", program, *map(str, numbers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()


class ServedCluster:
    """The process of a fake cluster: a benchmark that is started with `--serve`, and answers each line with a line.

    Attributes:
        bootstrap: its first line.
    """

    def __init__(self, module: str, *options: str) -> None:
        command = [sys.executable, "-m", f"benches.{module}", "--serve", *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        self.bootstrap = self._read_line()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)  # the end of its input ends it

    def call(self, command: str) -> str:
        """Send a command, and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._read_line()

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
