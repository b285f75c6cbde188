"""The programs in other languages: the tools they require, and how they are built and run.

All of them keep the memory that they free, up to 1 GB. By default, the allocator of Rust programs would return it to
the system after every call, and getting it again takes longer than decoding.

All build output is in `target/native`. The versions of dependencies are pinned in the files of each language.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

HERE = Path(__file__).parent
BUILT = HERE.parents[1] / "target" / "native"
RUST, GO, JAVA = BUILT / "rust", BUILT / "go", BUILT / "java"


class Lacking(Exception):
    """A program cannot be built. The message names what is missing."""


@dataclass(frozen=True, slots=True)
class Program:
    """A codec in another language."""

    name: str
    language: str
    tools: tuple[str, ...]
    build: Callable[[], None]
    command: tuple[str, ...]
    environment: dict[str, str]
    wants_plan: bool = False

    def prepare(self) -> None:
        """Build the program.

        Raises:
            Lacking: a tool is not installed, or the build fails.
        """
        missing = [tool for tool in self.tools if shutil.which(tool) is None]
        if missing:
            raise Lacking(f"{' and '.join(missing)} is not installed")
        self.build()


def cargo(binary: str, *options: str) -> Callable[[], None]:
    manifest = str(HERE / "rust" / "Cargo.toml")
    command = ("cargo", "build", "--release", "--quiet", "--manifest-path", manifest, "--target-dir", str(RUST))
    return lambda: run(*command, "--bin", binary, *options)


def build_go() -> None:
    run("go", "build", "-C", str(HERE / "go"), "-o", str(GO / "kmsg"), ".")


def build_java() -> None:
    libraries = JAVA / "libraries"
    if not libraries.exists():
        pom = str(HERE / "java" / "pom.xml")
        fetch = ("dependency:copy-dependencies", f"-DoutputDirectory={libraries}", "-DincludeScope=runtime")
        run("mvn", "--quiet", "--batch-mode", "--file", pom, *fetch)
    run("javac", "-d", str(JAVA), "-cp", f"{libraries}/*", str(HERE / "java" / "KafkaClients.java"))


def run(*command: str) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        output = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        raise Lacking(f"`{command[0]}` failed: {' '.join(output[:2])}")


# Settings of glibc's allocator.
KEEP_FREED_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}


def rust(name: str, binary: str, *options: str, wants_plan: bool = False) -> Program:
    command = (str(RUST / "release" / binary),)
    return Program(name, "Rust", ("cargo",), cargo(binary, *options), command, KEEP_FREED_MEMORY, wants_plan)


PROGRAMS = (
    rust("kwire, Value", "kwire", wants_plan=True),
    rust("kafka-protocol", "kafka_protocol"),
    # It declares a newer Rust version than it needs here.
    rust("krabka", "krabka", "--features", "krabka", "--ignore-rust-version"),
    Program(
        "kmsg",
        "Go",
        ("go",),
        build_go,
        (str(GO / "kmsg"),),
        {"GOGC": "off", "GOMEMLIMIT": "1GiB"},
    ),
    Program(
        "kafka-clients",
        "Java",
        ("java", "javac", "mvn"),
        build_java,
        # The garbage collector that takes the least time of the working thread.
        ("java", "-XX:+UseSerialGC", "-Xms1g", "-Xmx1g", "-cp", f"{JAVA}:{JAVA}/libraries/*", "KafkaClients"),
        {},
    ),
)


class Worker:
    """A running program that executes operations on command."""

    def __init__(self, program: Program, message: Path, version: int, plan: str) -> None:
        extra = (plan,) if program.wants_plan else ()
        command = (*program.command, str(message), str(version), *extra)
        environment = {**os.environ, **program.environment}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.operations = tuple(self.read_line().split())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def work(self, operation: str, calls: int) -> tuple[list[int], int]:
        """Return the CPU nanoseconds of the working thread for each call, and of the process for all calls."""
        assert self.process.stdin is not None
        before = self.cpu_ns()
        self.process.stdin.write(f"{operation} {calls}\n")
        self.process.stdin.flush()
        taken = [int(text) for text in self.read_line().split()]
        return taken, self.cpu_ns() - before

    def read_line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args!r} exited with status {self.process.wait()}")
        return line

    def cpu_ns(self) -> int:
        """Return the CPU time of all threads. Linux has a clock for every process id."""
        return time.clock_gettime_ns((~self.process.pid << 3) | 2)
