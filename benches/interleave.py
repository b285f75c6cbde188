"""Taking turns: how codecs are timed against one another.

Rules of this file.

* The clock is the CPU time of this thread. Neighbours on the machine still cost cache and frequency, so only ratios
  within one run mean anything; and since they come and go, every round lets every codec run once, in shuffled order.
* The collector is on, as programs have it. Objects that it tracks make it run while they are decoded; that is part of
  their price. That it then also walks what the benchmark itself keeps alive would not be, so this is frozen.
* A sample begins with a full collection, so that nobody inherits another's debts.
* Memory is warm. CPython gives an arena back to the system as soon as nothing is left in it, so that where arenas
  happen to end decides who has to fetch one again in every call. So something is left in enough of them. What it
  costs to decode into cold memory is told beside the bytes held.
* A result is kept until the clock has stopped, and then freed under a clock of its own. Messages of microseconds are
  decoded a few at a time, because of what the clock itself costs. A few only, and as many for everybody: results that
  nobody would have kept make the collector run, and outgrow the free lists, by which they cost up to half as much
  again.
* Decoding happens while nothing else is alive. Encoding cannot: every codec's message is alive all the time.
* The content has to be gone by now. A hundred thousand tuples more would be the collector's work, and only some
  codecs' loss.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, repeat
from statistics import median, quantiles
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

Operation: TypeAlias = Literal["decode", "encode", "validate"]

SAMPLE_NS = 10_000_000
"""A sample lasts about this long, in as many groups as it takes, or as long as one group."""
WARM_MEMORY = 64 << 20
"""Bytes, twice what the most wasteful codec needs for the largest message."""
ARENA = 1 << 20
PIN = 400
"""The size of an object that comes from an arena, as those beyond 512 bytes do not."""


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


def take_turns(contestants: Sequence[Contestant], together: int, rounds: int, random: Random) -> list[Samples]:
    """Time every contestant once a round, so many results of it alive together."""
    shapes = {id(each): Shape.of(each, together) for each in contestants}
    pins = pin_arenas()
    taken: dict[int, list[tuple[float, float]]] = {id(each): [] for each in contestants}
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for contestant in random.sample(contestants, len(contestants)):
            taken[id(contestant)].append(sample(contestant, shapes[id(contestant)]))
    gc.unfreeze()
    del pins
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
    def of(cls, contestant: Contestant, group: int) -> Shape:
        """Found by trying, after a call that warms it up."""
        time_group(contestant, 1)
        lasts, _ = time_group(contestant, group)
        return cls(group, max(1, round(SAMPLE_NS / lasts)))


def pin_arenas() -> list[bytes]:
    """Small objects, one or more in each of as many arenas as the largest message needs."""
    objects = [bytes(PIN) for _ in range(WARM_MEMORY // PIN)]
    return objects[:: ARENA // PIN // 2]


def sample(contestant: Contestant, shape: Shape) -> tuple[float, float]:
    """Nanoseconds for one call, and for freeing its result."""
    gc.collect()
    call_ns = free_ns = 0
    for _ in range(shape.groups):
        called, freed = time_group(contestant, shape.group)
        call_ns += called
        free_ns += freed
    reading = clock_ns() * shape.groups
    return (call_ns - reading) / shape.calls, (free_ns - reading) / shape.calls


@cache
def clock_ns() -> int:
    """What reading the clock costs."""
    readings = [thread_time_ns() for _ in range(1001)]
    return round(median(later - earlier for earlier, later in pairwise(readings)))


def time_group(contestant: Contestant, group: int) -> tuple[int, int]:
    """Nanoseconds for all calls, and for freeing all results."""
    call, argument = contestant.call, contestant.argument
    start = thread_time_ns()
    results = [call(argument) for _ in repeat(None, group)]
    called = thread_time_ns()
    results.clear()
    freed = thread_time_ns()
    return called - start, freed - called
