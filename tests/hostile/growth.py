"""Growth of time with the input: `python -m tests.hostile.growth` prints the factors for twice the input as JSON.

Time is the CPU time of the thread, the minimum of several rounds with alternating sizes. Rounds are added while the
machine is too busy for a result. `measured` runs it with an allocator that keeps freed memory: memory from the kernel
costs more than decoding, and is needed only for some sizes.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from functools import cache, partial
from time import thread_time_ns
from typing import TYPE_CHECKING

import kwire
from kwire._kwire import Plan
from tests.hostile.greedy import CASES, Greedy, Tags, distinct_structs, many_tags, uvarint
from tests.installing import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[int], Callable[[], object]]
    """Prepares an input of a size and returns the function to time, which includes freeing its result."""

MOST = 2.2
"""A factor of time for twice the input at which no more rounds are needed. A single run of linear work exceeds it."""
SIZE = 1 << 17
DOUBLINGS = 3
FEWEST_ROUNDS, MOST_ROUNDS = 3, 40

KEEPS_MEMORY = {
    "PYTHONMALLOC": "malloc",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TOP_PAD_": str(1 << 28),
}


@cache
def measured() -> dict[str, float]:
    """Return the factor of every workload."""
    command = [sys.executable, "-m", "tests.hostile.growth"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | KEEPS_MEMORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    factors: dict[str, float] = json.loads(done.stdout)
    return factors


def growth(work: Work) -> float:
    """Return the average factor of time for twice the input.

    If only the smaller input and its result fit into a cache, other sizes are compared: superlinear growth shows at all
    sizes.
    """
    factor = float("inf")
    for smallest in (SIZE, SIZE >> DOUBLINGS, SIZE << 1):
        factor = min(factor, growth_from(smallest, work))
        if factor <= MOST:
            break
    return factor


def growth_from(smallest: int, work: Work) -> float:
    """Return the factor for inputs of at least that size."""
    small, large = work(smallest), work(smallest << DOUBLINGS)
    least_small = least_large = float("inf")
    factor = float("inf")
    for rounds in range(1, MOST_ROUNDS + 1):
        least_small = min(least_small, time_of(small))
        least_large = min(least_large, time_of(large))
        factor = (least_large / least_small) ** (1 / DOUBLINGS)
        if rounds >= FEWEST_ROUNDS and factor <= MOST:
            break
    return factor


def time_of(call: Callable[[], object]) -> int:
    before = thread_time_ns()
    call()
    return thread_time_ns() - before


# Workloads


def decoding(case: Greedy, size: int) -> Callable[[], object]:
    return partial(kwire.decode, case.cls, case.body(size), version=case.version)


def decoding_in_vain(case: Greedy, size: int) -> Callable[[], object]:
    body = case.body(size)[:-1]

    def reject() -> None:
        try:
            kwire.decode(case.cls, body, version=case.version)
        except kwire.DecodeError:
            return
        raise AssertionError("its last byte is missing")

    return reject


def validating(case: Greedy, size: int) -> Callable[[], object]:
    return partial(kwire.validate, case.cls, case.body(size), version=case.version)


def encoding(case: Greedy, size: int) -> Callable[[], object]:
    message = kwire.decode(case.cls, case.body(size), version=case.version)
    return partial(kwire.encode, message, version=case.version)


def parsing(text: Callable[[int], str], size: int) -> Callable[[], object]:
    plan = text(size)

    def parse() -> None:
        try:
            Plan(plan, [])
        except ValueError:
            return  # an invalid plan, or a plan without classes
        raise AssertionError("it needs a class")

    return parse


def taking_tags_apart(size: int) -> Callable[[], object]:
    tags = kwire.decode(Tags, many_tags(size), version=1).unknown_tags
    return lambda: dict(tags.items())


def structs_that_nearly_repeat(size: int) -> bytes:
    """The structs repeat after all caches have evicted them."""
    once = distinct_structs(SIZE // 2)[4:]
    count = size // len(once)
    return (count * len(once) // 3).to_bytes(4, "big") + once * count


def lengths_of_five_bytes(size: int) -> bytes:
    return uvarint(size // 5 + 1) + b"\x81\x80\x80\x80\x00" * (size // 5) + b"\0"


MORE_CASES = [
    CASES[[case.name for case in CASES].index("different structs")]._replace(
        name="structs that nearly repeat", body=structs_that_nearly_repeat
    ),
    CASES[[case.name for case in CASES].index("empty texts")]._replace(
        name="lengths of five bytes", body=lengths_of_five_bytes
    ),
]

PLANS: dict[str, Callable[[int], str]] = {
    "fields": lambda size: f"Long v0 {{{' '.join(f'f{index}:int8' for index in range(size // 12))}}}",
    "absent fields": lambda size: f"Long v0 {{{' '.join(f'-f{index}=0' for index in range(size // 10))}}}",
    "tagged fields": lambda size: f"Long v0 <{' '.join(f'f{index}#{index}:int8=0' for index in range(size // 20))}>",
    "structs": lambda size: f"Long v0 {{{' '.join(f'f{index}:[{{a:[int8]}}]' for index in range(size // 20))}}}",
    "a text": lambda size: 'Long v0 {-a="' + "\\u2603" * (size // 6) + '"}',
    "an invalid number": lambda size: "Long v0 {-a=" + "1" * size + "}",
}

WORKS: dict[str, Work] = {
    **{
        f"{do.__name__} {case.name}": partial(do, case)
        for do in (decoding, decoding_in_vain, validating, encoding)
        for case in (*CASES, *MORE_CASES)
    },
    **{f"parsing {name}": partial(parsing, text) for name, text in PLANS.items()},
    "taking unknown tags apart": taking_tags_apart,
}


def main() -> None:
    gc.disable()  # its passes visit all objects of the process
    json.dump({name: growth(work) for name, work in WORKS.items()}, sys.stdout)


if __name__ == "__main__":
    main()
