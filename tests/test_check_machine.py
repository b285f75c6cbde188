"""`make` says what a machine lacks, all of it, before it does anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def check(path: Path, python: str, *needs: str) -> subprocess.CompletedProcess[str]:
    """Run the check with `path` as the only folder of programs."""
    return subprocess.run(
        ["/bin/sh", ROOT / "scripts" / "check_machine.sh", *needs],
        cwd=ROOT,
        env={"PATH": str(path), "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """Programs of a machine that has the check's own tools and nothing else."""
    sed = shutil.which("sed")
    assert sed is not None
    (tmp_path / "sed").symlink_to(sed)
    return tmp_path


def program(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    (folder / name).chmod(0o755)


def test_everything_that_is_missing_is_named_at_once(bare_machine: Path) -> None:
    answer = check(bare_machine, "python3", "java")

    assert answer.returncode == 1
    assert "missing: Python 3.11 or newer (there is no 'python3'" in answer.stderr
    assert "missing: a Rust toolchain, 1." in answer.stderr
    assert "missing: a C linker" in answer.stderr
    assert "missing: Java 17 or newer" in answer.stderr


def test_what_is_too_old_is_named_with_its_version(bare_machine: Path) -> None:
    program(bare_machine, "python3", '[ "$1" = -V ] && echo Python 3.10.13 && exit', "exit 1")
    program(bare_machine, "cargo")
    program(bare_machine, "rustc", "echo 'rustc 1.70.0 (90c541806 2023-05-31)'")
    program(bare_machine, "cc")
    program(bare_machine, "java", """echo 'openjdk version "11.0.2" 2019-01-15' >&2""")

    answer = check(bare_machine, "python3", "java")

    assert answer.returncode == 1
    assert "'python3' is Python 3.10.13" in answer.stderr
    assert "rustc 1.70.0" in answer.stderr
    assert "java is version 11" in answer.stderr
    assert "C linker" not in answer.stderr


def test_only_tests_and_the_demo_need_java(bare_machine: Path) -> None:
    program(bare_machine, "cargo")
    program(bare_machine, "rustc", "echo 'rustc 1.95.0 (f2d3ce0bd 2026-03-21)'")
    program(bare_machine, "cc")

    answer = check(bare_machine, sys.executable)

    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert check(bare_machine, sys.executable, "java").returncode == 1
    program(bare_machine, "java", """echo 'openjdk version "17.0.15" 2025-04-15' >&2""")
    assert check(bare_machine, sys.executable, "java").returncode == 0
