"""Continuous integration: lint, documentation, and the tests that each change must pass. `.ci/run` starts it.

A test that did not run is a failure: conftest.py turns skips into failures, and every test of a report must have
passed here. Failed tests run a second time, `MAX_RERUNS` at most, because tests of real clusters race against their own
timeouts on a busy machine. What they print at first is shown, since each of them is a defect to find.

    setup -> test-kafka, test-programs   -> test-java -> test -> one group of scripts/nightly.py
             lint, docs, test-release

The tests of real Kafka mostly wait for brokers, so the other steps run beside them. The later steps
have both processors.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from scripts import nightly
from scripts.products import PRODUCTS, product_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
MAX_RERUNS = 3
"""Maximum number of failed tests of a target that run again; more are a defect of the change. Chosen, not measured."""
SLOWEST_FILES = 20

PACKAGES: dict[tuple[str, ...], str] = {
    ("chromium-headless-shell", "chromium", "google-chrome"): "chromium-headless-shell",  # the page of `kafka http`
    ("krb5kdc",): "krb5-kdc krb5-admin-server",
    ("krb5-config",): "libkrb5-dev",  # gssapi is built against its headers
    ("prometheus",): "prometheus",
    ("prometheus-alertmanager",): "prometheus-alertmanager",
    ("systemd-analyze",): "systemd",
    ("tmux",): "tmux",
    ("valgrind",): "valgrind",
}
"""Debian packages by programs; one of these must be on PATH."""


class StepFailed(Exception):
    """A step failed.

    Attributes:
        reason: one line.
        output: printed text.
    """

    def __init__(self, reason: str, output: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


@dataclass
class Outcome:
    """Outcome of the tests of a target, or of several.

    Attributes:
        passed: number of tests that passed, at the first or at the second attempt.
        rerun: ids of the tests that passed at the second attempt.
        seconds: duration of the tests of each file.
        cpu_seconds: processor time of make and of every process that was waited for below it.
    """

    passed: int = 0
    rerun: list[str] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.rerun += other.rerun
        self.seconds += other.seconds
        self.cpu_seconds += other.cpu_seconds


class Made(NamedTuple):
    """The end of making a target; `cpu_seconds` as in `Outcome`."""

    succeeded: bool
    output: str
    cpu_seconds: float


def make(target: str, *variables: str, root: Path = ROOT) -> Made:
    """Make a target with variables of make, such as `TIER=change`."""
    command = ["make", target, *variables]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        # Steps run beside each other, so the sum for all children would not tell them apart.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Made(process.returncode == 0, output, usage.ru_utime + usage.ru_stime)


def run_target(target: str, *variables: str) -> Outcome:
    """Make a target without tests.

    Raises:
        StepFailed: it failed.
    """
    made = make(target, *variables)
    if not made.succeeded:
        raise StepFailed("failed", made.output)
    return Outcome(cpu_seconds=made.cpu_seconds)


def run_tests(target: str, *variables: str, root: Path = ROOT) -> Outcome:
    """Make a target that ends in pytest, and check that every test ran and passed, at the second attempt at the latest.

    Tests are counted by their ids in pytest's cache. Closing lines of pytest do not have these counts: a test with
    subtests is reported once for itself and once for each failed subtest.

    Raises:
        StepFailed: a test did not run or did not pass, or something else failed.
    """
    with tempfile.TemporaryDirectory(prefix="kwire-ci-") as folder:
        report, rerun_report = Path(folder) / "report.xml", Path(folder) / "rerun.xml"
        options = f"OPTIONS=-o junit_family=xunit1 -o cache_dir={folder}/cache --junitxml="
        succeeded, output, cpu_seconds = make(target, f"{options}{report}", *variables, root=root)
        if succeeded:
            passed, cases = read_report(report)
            if passed.passed < max(cases, 1):
                raise StepFailed(f"{passed.passed} of {cases} tests ran and passed", output)
            passed.cpu_seconds = cpu_seconds
            return passed
        failed = failed_tests(Path(folder) / "cache")
        is_module = any("::" not in test for test in failed)  # it cannot be imported
        if not failed or len(failed) > MAX_RERUNS or is_module:
            raise StepFailed(f"{len(failed)} tests failed" if failed else "failed", output)
        rerun_options = f"{options}{rerun_report} --last-failed --last-failed-no-failures=none"
        again = make(target, rerun_options, *variables, root=root)
        if not again.succeeded or read_report(rerun_report)[0].passed != len(failed):
            raise StepFailed(f"{', '.join(failed)} failed, and did not pass when run again", output + again.output)
        print(output, f"ci: these tests of {target} failed at first, and passed when run again:", *failed, sep="\n")
        outcome, _ = read_report(report)
        outcome.passed += len(failed)
        outcome.rerun += failed
        outcome.cpu_seconds = cpu_seconds + again.cpu_seconds
        return outcome


def failed_tests(cache: Path) -> list[str]:
    """Return the ids of the tests that failed in the run with this cache of pytest."""
    file = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text("utf-8"))) if file.exists() else []


def read_report(report: Path) -> tuple[Outcome, int]:
    """Return the tests that passed by a JUnit report, and the number of all its test cases."""
    outcome, cases = Outcome(), 0
    if report.exists():  # it does not if make failed before pytest
        for case in ET.parse(report).iter("testcase"):  # written by our own pytest
            cases += 1
            outcome.seconds[case.get("file", "?")] += float(case.get("time", 0))  # type: ignore[assignment]  # a float
            outcome.passed += not any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
    return outcome, cases


def install_packages() -> Outcome:
    """Install the missing packages of `PACKAGES`, as root.

    Raises:
        StepFailed: apt-get failed.
    """
    missing = [packages for programs, packages in PACKAGES.items() if not any(map(shutil.which, programs))]
    if missing:
        install = f"apt-get -qq update && apt-get -qq install -y --no-install-recommends {' '.join(missing)}"
        done = subprocess.run(["sh", "-c", install], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StepFailed("apt-get failed", done.stdout + done.stderr)
    return Outcome()


def run_turn() -> Outcome:
    """Run the nightly group whose turn it is.

    Raises:
        StepFailed: it failed.
    """
    group = nightly.GROUPS[nightly.turn()]
    variables = [f"{name}={value}" for name, value in group.variables.items()]
    return (run_tests if group.has_tests else run_target)(group.target, *variables)


STEPS: dict[str, Callable[[], Outcome]] = {
    "packages": install_packages,
    **{target: partial(run_target, target) for target in ("setup", "lint", "docs")},
    "test": partial(run_tests, "test"),
    **{
        target: partial(run_tests, target, "TIER=change")
        for target in ("test-java", "test-programs", "test-kafka", "test-release")
    },
    f"nightly {nightly.turn()}": run_turn,
}


class Run:
    """A run of all steps, and its outcome so far."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self.failures: list[str] = []

    def step(self, name: str) -> None:
        """Run a step, and print its duration, and its output if it failed."""
        start, cpu = time.monotonic(), ""
        try:
            outcome = STEPS[name]()
        except StepFailed as error:
            self.failures.append(name)
            print(f"{error.output}\nci: {name}: {error.reason}", flush=True)
        else:
            self.outcome.add(outcome)
            cpu = f", and {outcome.cpu_seconds:.0f} s of the processors" if outcome.cpu_seconds else ""
        print(f"ci: {name} took {time.monotonic() - start:.0f} s{cpu}", flush=True)

    def steps(self, *names: str) -> None:
        for name in names:
            self.step(name)


def main() -> None:
    """Run everything, and exit with 1 if anything failed."""
    start = time.monotonic()
    run = Run()
    run.steps("packages", "setup")
    if not run.failures:
        with ThreadPoolExecutor() as pool:
            beside = pool.submit(run.steps, "lint", "docs", "test-release")
            run.steps("test-kafka", "test-programs")
            beside.result()
        run.steps("test-java", "test", f"nightly {nightly.turn()}")
    print("ci: tests of each product, in seconds of one process:")
    for product in PRODUCTS:
        seconds_of_product = sum(
            s for file, s in run.outcome.seconds.items() if product_of(ROOT / file).name == product
        )
        print(f"{seconds_of_product:8.0f}  {product}")
    print("ci: slowest files, in seconds of one process:")
    for file, seconds in run.outcome.seconds.most_common(SLOWEST_FILES):
        print(f"{seconds:8.0f}  {file}")
    if run.failures:
        sys.exit(f"=== failed: {', '.join(run.failures)} ===")
    again = f", {len(run.outcome.rerun)} of them in a second run" if run.outcome.rerun else ""
    print(f"=== {run.outcome.passed} passed{again} in {time.monotonic() - start:.0f} s ===")


if __name__ == "__main__":
    main()
