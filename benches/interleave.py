"""Interleaved timing of codecs.

* The clock is the CPU time of this thread. Other processes still affect caches and frequency, so only ratios within a
  run are meaningful. Every round times each codec once, in random order, so that disturbances affect all codecs.
* The garbage collector is on, as in programs. Objects that it tracks cause collections while they are decoded, which
  is part of their cost. Objects of the benchmark itself are frozen, so that collections do not traverse them.
* Each sample starts with a full collection, so that a codec does not pay for the objects of another one.
* Memory is warm. CPython returns an arena to the system as soon as it is empty, so the placement of arenas would decide
  which codec has to allocate one again in every call. Small objects keep enough arenas alive. `memory.py` measures
  decoding into cold memory.
* A result is kept until the clock has stopped, and its deallocation is timed separately. Messages that take
  microseconds are decoded in small groups because of the cost of the clock. All codecs use the same group size: more
  live results cause more collections and exceed the free lists, which costs up to half as much again.
* No other object is alive during decoding. During encoding, the messages of all codecs are alive.
* The generated content is freed before timing: 100,000 more tuples would slow down the collector, and with it only some
  of the codecs.
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

Operation: TypeAlias = Literal["decode", "encode", "validate", "view"]

SAMPLE_NS = 10_000_000
"""The target duration of a sample, which has at least one group of calls."""
WARM_MEMORY = 64 << 20
"""Bytes kept warm: twice what the least economical codec needs for the largest message."""
ARENA = 1 << 20
PIN = 400
"""The size of an object in an arena; objects over 512 bytes are not allocated from arenas."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One codec, one operation, and one payload."""

    peer: str
    operation: Operation
    call: Callable[[Any], Any]
    argument: Any


@dataclass(frozen=True, slots=True)
class Samples:
    """The times of one contestant in nanoseconds a call, in the order of the rounds."""

    peer: str
    operation: Operation
    calls: int
    """Calls in each sample."""
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
        """The distance between the quartiles, relative to the median."""
        if len(self.call_ns) < 2:
            return 0.0
        lower, middle, upper = quantiles(self.call_ns, n=4, method="inclusive")
        return (upper - lower) / middle


def take_turns(contestants: Sequence[Contestant], group: int, rounds: int, random: Random) -> list[Samples]:
    """Time every contestant once a round; `group` is the number of results that are alive at once."""
    shapes = {id(contestant): Shape.of(contestant, group) for contestant in contestants}
    pins = pin_arenas()
    taken: dict[int, list[tuple[float, float]]] = {id(contestant): [] for contestant in contestants}
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for contestant in random.sample(contestants, len(contestants)):
            taken[id(contestant)].append(sample(contestant, shapes[id(contestant)]))
    gc.unfreeze()
    del pins
    return [
        Samples(
            contestant.peer,
            contestant.operation,
            shapes[id(contestant)].calls,
            call_ns=tuple(round(call_ns, 1) for call_ns, _ in taken[id(contestant)]),
            free_ns=tuple(round(free_ns, 1) for _, free_ns in taken[id(contestant)]),
        )
        for contestant in contestants
    ]


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of calls in a sample: groups of equal size."""

    group: int
    groups: int

    @property
    def calls(self) -> int:
        return self.group * self.groups

    @classmethod
    def of(cls, contestant: Contestant, group: int) -> Shape:
        """Determine the number of groups by a trial, after a warm-up call."""
        time_group(contestant, 1)
        lasts, _ = time_group(contestant, group)
        return cls(group, max(1, round(SAMPLE_NS / lasts)))


def pin_arenas() -> list[bytes]:
    """Return small objects that keep as many arenas alive as the largest message needs."""
    objects = [bytes(PIN) for _ in range(WARM_MEMORY // PIN)]
    return objects[:: ARENA // PIN // 2]


def sample(contestant: Contestant, shape: Shape) -> tuple[float, float]:
    """Return the nanoseconds of one call, and of freeing its result."""
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
    """Return the cost of reading the clock."""
    readings = [thread_time_ns() for _ in range(1001)]
    return round(median(later - earlier for earlier, later in pairwise(readings)))


def time_group(contestant: Contestant, group: int) -> tuple[int, int]:
    """Return the nanoseconds of all calls, and of freeing all results."""
    call, argument = contestant.call, contestant.argument
    start = thread_time_ns()
    results = [call(argument) for _ in repeat(None, group)]
    called = thread_time_ns()
    results.clear()
    freed = thread_time_ns()
    return called - start, freed - called
