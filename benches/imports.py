"""The cost of importing a codec: CPU time of a fresh interpreter, minus the time of an interpreter without imports.

Interpreters run in random order. Bytecode is cached, as in any second import; PYTHONDONTWRITEBYTECODE is removed from
the environment, because the compiler would be measured otherwise.
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
    """CPU time in addition to a bare interpreter's, round by round."""

    @property
    def median_ns(self) -> float:
        return median(self.over_bare_ns)


def take_turns(statements: Mapping[str, str], rounds: int, random: Random) -> list[Import]:
    """Time the import statement of every peer once a round."""
    everything = {"": BARE, **statements}
    for statement in everything.values():
        interpreter(statement)  # writes the bytecode and fills the page cache
    taken: dict[str, list[int]] = {peer: [] for peer in everything}
    for _ in range(rounds):
        for peer in random.sample(list(everything), len(everything)):
            taken[peer].append(interpreter(everything[peer]))
    bare = median(taken[""])
    return [
        Import(peer, statement, tuple(round(total - bare) for total in taken[peer]))
        for peer, statement in statements.items()
    ]


def interpreter(statement: str) -> int:
    """Return the CPU nanoseconds of an interpreter that runs one statement, including its start and exit."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", statement], environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise RuntimeError(f"{statement!r} failed in a fresh interpreter")
    return round((usage.ru_utime + usage.ru_stime) * 1e9)
