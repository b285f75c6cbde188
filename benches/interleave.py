"""Taking turns: how codecs are timed against one another.

Rules of this file.

* The clock is the CPU time of this thread. Neighbours on the machine still cost cache and frequency, so only ratios
  within one run mean anything; and since they come and go, every round lets every codec run once, in shuffled order.
* The collector is on, as programs have it. Objects that it tracks make it run while they are decoded; that is part of
  their price. That it then also walks what the benchmark itself keeps alive would not be, so this is frozen.
* A sample begins with a full collection, so that nobody inherits another's debts, and with calls that do not count:
  a collection also gives memory back to the system, and getting it again was a fifth of msgspec's time.
* A sample is made of groups of calls. A group is long enough for the clock, keeps its results until the clock has
  stopped, and then frees them under a clock of their own.
* Decoding happens while nothing else is alive. Encoding cannot: every codec's message is alive all the time.
* The content has to be gone by now. A hundred thousand tuples more would be the collector's work, and only some codecs'
  loss.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from itertools import repeat
from statistics import median, quantiles
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

Operation: TypeAlias = Literal["decode", "encode", "validate"]

GROUP_NS = 200_000
"""A group lasts at least this long: a thousand times what reading the clock costs."""
SAMPLE_NS = 10_000_000
"""A sample lasts at least this long, in as many groups as it takes."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One codec at one operation on one payload."""

    peer: str
    operation: Operation
    call: Callable[[Any], Any]
    argument: Any


@dataclass(frozen=True, slots=True)
class Samples:
    """What one contestant took for one call, in nanoseconds and in the order of the rounds."""

    peer: str
    operation: Operation
    calls: int
    """In each sample."""
    call_ns: tuple[float, ...]
    free_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        return median(self.call_ns)

    @property
    def median_free_ns(self) -> float:
        return median(self.free_ns)

    @property
    def spread(self) -> float:
        """How far apart the quartiles are, as a share of the median."""
        if len(self.call_ns) < 2:
            return 0.0
        lower, middle, upper = quantiles(self.call_ns, n=4, method="inclusive")
        return (upper - lower) / middle


def take_turns(contestants: Sequence[Contestant], rounds: int, random: Random) -> list[Samples]:
    """Time every contestant once a round."""
    shapes = {id(each): Shape.of(each) for each in contestants}
    taken: dict[int, list[tuple[float, float]]] = {id(each): [] for each in contestants}
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for contestant in random.sample(contestants, len(contestants)):
            taken[id(contestant)].append(sample(contestant, shapes[id(contestant)]))
    gc.unfreeze()
    return [
        Samples(
            each.peer,
            each.operation,
            shapes[id(each)].calls,
            call_ns=tuple(round(call_ns, 1) for call_ns, _ in taken[id(each)]),
            free_ns=tuple(round(free_ns, 1) for _, free_ns in taken[id(each)]),
        )
        for each in contestants
    ]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many calls make a sample."""

    group: int
    groups: int

    @property
    def calls(self) -> int:
        return self.group * self.groups

    @classmethod
    def of(cls, contestant: Contestant) -> Shape:
        """Found by trying, which also warms the contestant up."""
        group = 1
        while (lasts := time_group(contestant, group)[0]) < GROUP_NS:
            group *= 2
        return cls(group, max(1, round(SAMPLE_NS / lasts)))


def sample(contestant: Contestant, shape: Shape) -> tuple[float, float]:
    """Nanoseconds for one call, and for freeing its result."""
    gc.collect()
    time_group(contestant, shape.group)
    call_ns = free_ns = 0
    for _ in range(shape.groups):
        called, freed = time_group(contestant, shape.group)
        call_ns += called
        free_ns += freed
    return call_ns / shape.calls, free_ns / shape.calls


def time_group(contestant: Contestant, group: int) -> tuple[int, int]:
    """Nanoseconds for all calls, and for freeing all results."""
    call, argument = contestant.call, contestant.argument
    start = thread_time_ns()
    results = [call(argument) for _ in repeat(None, group)]
    called = thread_time_ns()
    results.clear()
    freed = thread_time_ns()
    return called - start, freed - called
