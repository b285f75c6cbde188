"""Everything that `.ci/run` leaves out, in groups of at most 12 minutes on two idle processors.

    python3 -m scripts.nightly              all groups
    python3 -m scripts.nightly kafka-1      one of them
    python3 -m scripts.nightly --list       their names, as JSON: the matrix of the scheduled workflow

Each run of `.ci/run` also takes the group whose turn it is by the number of commits, so that no group stays unseen for
long. Targets of pytest leave the tests out that each change must pass (`TIER=nightly`) and take a share of their files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Group:
    """A target of make.

    Attributes:
        target: the target.
        variables: variables of make for it.
        has_tests: True if the target ends in pytest.
    """

    target: str
    variables: dict[str, str] = field(default_factory=dict)
    has_tests: bool = True


def shares(name: str, target: str, count: int) -> dict[str, Group]:
    """Return the groups of the nightly tests of a target: `count` shares of its files."""
    return {f"{name}-{k}": Group(target, {"TIER": "nightly", "SHARE": f"{k}/{count}"}) for k in range(1, count + 1)}


OTHERS = ("records_differential", "views", "conversation")
"""Targets of fuzzing that share a group; those of the Rust crate need a nightly Rust and have a job of their own."""

GROUPS: dict[str, Group] = {
    "benches": Group("bench-check", has_tests=False),
    "examples": Group("test-seeds"),
    "fuzz-codec": Group("fuzz", {"SECONDS": "600", "FUZZ": "--target differential"}, has_tests=False),
    "fuzz-others": Group(
        "fuzz", {"SECONDS": "200", "FUZZ": " ".join(map("--target {}".format, OTHERS))}, has_tests=False
    ),
    "histories": Group("test-histories"),
    **shares("interpreters", "test-release", 4),
    **shares("java", "test-java", 2),
    **shares("kafka", "test-kafka", 4),
    **shares("programs", "test-programs", 2),
    "slow": Group("test", {"TIER": "nightly"}),
}
"""Groups by name, in the order of their turns."""


def turn() -> str:
    """Return the group whose turn it is by the number of commits of HEAD."""
    count = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [*GROUPS][int(count) % len(GROUPS)]


def command(group: Group) -> list[str]:
    """Return the command of make for a group."""
    return ["make", group.target, *(f"{name}={value}" for name, value in group.variables.items())]


def main() -> None:
    """Run the named groups, or all, and exit with 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python3 -m scripts.nightly", description="Run what .ci/run leaves out.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="a group; all groups by default")
    parser.add_argument("--list", action="store_true", help="print the names of all groups as JSON")
    options = parser.parse_args()
    if options.list:
        print(json.dumps([*GROUPS]))
        return
    if unknown := [name for name in options.groups if name not in GROUPS]:
        parser.error(f"there is no group {', '.join(unknown)}; groups are {', '.join(GROUPS)}")
    failed = []
    for name in options.groups or GROUPS:
        print(f"nightly: {name}: {' '.join(command(GROUPS[name]))}", flush=True)
        if subprocess.run(command(GROUPS[name]), cwd=ROOT, env=os.environ, check=False).returncode != 0:
            failed.append(name)
    if failed:
        sys.exit(f"nightly: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
