"""Growth of work with the input: `python -m tests.hostile.growth` prints the factors for twice the input as JSON.

Work is the number of executed instructions, which Valgrind counts: unlike time, it depends neither on the load of the
machine nor on its caches. `callgrind` writes its count whenever the program calls `getppid`, so the program calls it
before and after each workload, and every second file has the instructions of a workload.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import kwire
from kwire._kwire import Plan
from tests.hostile.greedy import CASES, Greedy, Tags, distinct_structs, many_tags, uvarint
from tests.installing import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[int], Callable[[], object]]
    """Prepares an input of a size and returns the function to measure, which includes freeing its result."""

SIZE = 1 << 14
"""Bytes of the smaller input: a hundred times the work of a call without input, and seconds of Valgrind for all."""
DOUBLINGS = 2
DISTINCT = 1 << 16
"""Bytes of structs that differ, more than the caches of the decoder have room for."""


@cache
def measured() -> dict[str, float]:
    """Return the factor of every workload: the growth of its instructions when the input doubles."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = ("valgrind", "--quiet", "--tool=callgrind", "--dump-before=getppid")
        program = (sys.executable, "-m", "tests.hostile.growth", "run")
        done = subprocess.run(
            [*valgrind, f"--callgrind-out-file={folder}/counts", *program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        counts = [instructions(Path(folder) / f"counts.{number}") for number in range(2, 4 * len(WORKS) + 1, 2)]
        assert not (Path(folder) / f"counts.{4 * len(WORKS) + 2}").exists()
    pairs = zip(counts[::2], counts[1::2], strict=True)
    return {name: (large / small) ** (1 / DOUBLINGS) for name, (small, large) in zip(WORKS, pairs, strict=True)}


def instructions(counts: Path) -> int:
    """Return the number of instructions in a file of callgrind."""
    total = re.search(r"^totals: (\d+)", counts.read_text(errors="replace"), flags=re.MULTILINE)
    assert total is not None, counts
    return int(total[1])


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
    once = distinct_structs(DISTINCT)[4:]
    count = 2 * size // SIZE
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

QUADRATIC = "quadratic"
"""A workload that must be found to be quadratic."""

WORKS: dict[str, Work] = {
    **{
        f"{do.__name__} {case.name}": partial(do, case)
        for do in (decoding, decoding_in_vain, validating, encoding)
        for case in (*CASES, *MORE_CASES)
    },
    **{f"parsing {name}": partial(parsing, text) for name, text in PLANS.items()},
    "taking unknown tags apart": taking_tags_apart,
    QUADRATIC: lambda size: lambda: sum(range((size >> 7) ** 2)),
}


def run() -> None:
    """Run each workload with the smaller and the larger input, between calls of `getppid`."""
    gc.disable()  # its passes visit all objects of the process
    for work in WORKS.values():
        work(SIZE >> 4)()  # the first use of a class prepares its plan, whatever the input
        for size in (SIZE, SIZE << DOUBLINGS):
            call = work(size)
            os.getppid()
            call()
            os.getppid()


def main() -> None:
    if sys.argv[1:] == ["run"]:
        run()
    else:
        json.dump(measured(), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
