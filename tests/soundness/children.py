"""Work that could crash the interpreter, in a child process.

A child that is killed by a signal fails its test and does not end the test run.
"""

from __future__ import annotations

import subprocess
import sys

from tests.paths import ROOT


def outcome(module: str, name: str, *arguments: str) -> str:
    """Return the result of `module.name(*arguments)` in a child process, or fail with its output."""
    program = (
        f"import faulthandler, sys; faulthandler.enable()\n"
        f"from {module} import {name}\n"
        f"sys.stdout.write({name}(*sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{name}{arguments} ended with {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout
