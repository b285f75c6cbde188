"""What importing costs, and what it must not bring along.

A command that prints one message, and a process that is started for every file, pay for imports again and again. So
``import kwire`` and a module of messages load nothing that has to do with typing, terminals or data frames.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys

import pytest

NEVER_BROUGHT_ALONG = {
    "annotated_types",
    "asyncio",
    "click",
    "dataclasses",
    "inspect",
    "json",
    "kazoo",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "typing",
    "uuid",
}

ALLOWED_OVER_BARE_PYTHON = 0.020
"""Seconds of CPU for ``import kwire``, and for ``import kwire`` with one module of messages."""

PACKAGE = "import kwire"
PACKAGE_AND_MESSAGES = "import kwire; from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse"
OTHER_MESSAGES = "from kwire.messages.kip4.create_topic import CreateTopicRequest"


def bare_environment() -> dict[str, str]:
    """This process's own, without what would keep Python from caching bytecode or add imports to measure."""
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME", "PYTHONWARNINGS", "PYTHONPATH", "PYTHONSTARTUP"}
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def imported_by(program: str) -> set[str]:
    """The modules that a bare interpreter has loaded after ``program`` and had not before."""
    listing = f"import sys; before = set(sys.modules); {program}; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-I", "-c", listing], env=bare_environment(), capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("program", [PACKAGE, PACKAGE_AND_MESSAGES, OTHER_MESSAGES])
def test_importing_brings_nothing_heavy_along(program: str) -> None:
    brought = {module.partition(".")[0] for module in imported_by(program)}

    assert not brought & NEVER_BROUGHT_ALONG


def test_importing_kwire_imports_no_message() -> None:
    assert not {module for module in imported_by(PACKAGE) if module.startswith("kwire.messages.")}


def test_importing_one_message_imports_no_other_api() -> None:
    of_apis = {module for module in imported_by(PACKAGE_AND_MESSAGES) if module.count(".") == 3}

    assert of_apis == {"kwire.messages.kafka.metadata"}


def cpu_seconds(program: str) -> float:
    """CPU time of one process that runs ``program`` and ends, user and system: neighbours hardly count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", "-c", program], env=bare_environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def best_of_alternating_starts(programs: dict[str, str], starts: int) -> dict[str, float]:
    """The median of the quicker half of many process starts, the programs taking turns in random order."""
    samples: dict[str, list[float]] = {name: [] for name in programs}
    order = list(programs)
    for _ in range(starts):
        random.shuffle(order)
        for name in order:
            samples[name].append(cpu_seconds(programs[name]))
    return {name: statistics.median(sorted(times)[: starts // 2]) for name, times in samples.items()}


def test_importing_costs_at_most_20_ms_over_bare_python() -> None:
    programs = {"bare": "pass", "package": PACKAGE, "package and messages": PACKAGE_AND_MESSAGES}
    for program in programs.values():
        cpu_seconds(program)  # writes the bytecode

    measured = best_of_alternating_starts(programs, starts=40)

    for name in ("package", "package and messages"):
        cost = measured[name] - measured["bare"]
        assert cost <= ALLOWED_OVER_BARE_PYTHON, f"{name}: {cost * 1000:.1f} ms over bare Python"
