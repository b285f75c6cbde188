"""What it costs to import a codec: CPU time of fresh interpreters, less that of one that imports nothing.

Interpreters are started in shuffled turns. Bytecode is cached, as it is for everybody who imports twice; a machine that
forbids it (PYTHONDONTWRITEBYTECODE) would measure the compiler.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

BARE = "pass"


@dataclass(frozen=True, slots=True)
class Import:
    peer: str
    statement: str
    over_bare_ns: tuple[int, ...]
    """CPU time beyond a bare interpreter's, round by round."""

    @property
    def median_ns(self) -> float:
        return median(self.over_bare_ns)


def take_turns(statements: Mapping[str, str], rounds: int, random: Random) -> list[Import]:
    """Time the statement of every peer once a round."""
    everything = {"": BARE, **statements}
    for statement in everything.values():
        interpreter(statement)  # leaves bytecode behind, and the files in the system's cache
    taken: dict[str, list[int]] = {peer: [] for peer in everything}
    for _ in range(rounds):
        for peer in random.sample(list(everything), len(everything)):
            taken[peer].append(interpreter(everything[peer]))
    bare = median(taken[""])
    return [
        Import(peer, statement, tuple(round(each - bare) for each in taken[peer]))
        for peer, statement in statements.items()
    ]


def interpreter(statement: str) -> int:
    """CPU nanoseconds of an interpreter that runs one statement, from its start to its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", statement], environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise RuntimeError(f"{statement!r} failed in a fresh interpreter")
    return round((usage.ru_utime + usage.ru_stime) * 1e9)
