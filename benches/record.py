"""The record of a run: every sample, the versions of the peers, and the machine.

Records are JSON files. Tables and verdicts are derived from a record alone.
"""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benches.imports import Import
from benches.interleave import Operation, Samples
from benches.memory import Memory
from benches.workloads import Workload

RECORDS = Path(__file__).parent / "records"


@dataclass(frozen=True, slots=True)
class Machine:
    processor: str
    cores: int
    system: str
    python: str
    load: tuple[float, float, float]
    """Load averages over 1, 5, and 15 minutes at the start of the run."""

    @classmethod
    def here(cls) -> Machine:
        return cls(
            processor=processor(),
            cores=os.cpu_count() or 1,
            system=f"{platform.system()} {platform.machine()}",
            python=f"{platform.python_implementation()} {platform.python_version()}",
            load=os.getloadavg(),
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """The samples of one workload."""

    workload: Workload
    bytes: int
    samples: list[Samples]
    unable: dict[str, str]
    """The peers that cannot process the workload, and why."""

    def find(self, peer: str, operation: Operation) -> Samples | None:
        return next((sample for sample in self.samples if (sample.peer, sample.operation) == (peer, operation)), None)


@dataclass(frozen=True, slots=True)
class Held:
    """The memory of one decoded workload."""

    workload: Workload
    memory: list[Memory]

    def find(self, peer: str) -> Memory | None:
        return next((memory for memory in self.memory if memory.peer == peer), None)


@dataclass(frozen=True, slots=True)
class Record:
    made: str
    commit: str
    quick: bool
    rounds: int
    machine: Machine
    versions: dict[str, str]
    timings: list[Timing] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def load(cls, file: Path) -> Record:
        return msgspec.json.decode(file.read_bytes(), type=cls)

    @classmethod
    def latest(cls) -> Record:
        """Load the newest record in `benches/records`."""
        files = sorted(RECORDS.glob("????-??-??*.json"))
        if not files:
            raise FileNotFoundError(f"no record in {RECORDS}: `make bench` writes one")
        return cls.load(files[-1])


def processor() -> str:
    """Return the model name of the processor."""
    details = Path("/proc/cpuinfo")
    if details.exists():
        for line in details.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """Return the measured commit, with a + for uncommitted changes; empty outside of a repository."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"],
        cwd=Path(__file__).parent,
        check=False,
        capture_output=True,
        text=True,
    )
    return described.stdout.strip()
