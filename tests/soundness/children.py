"""Work that could take the interpreter down with it, done in a process of its own.

A child that dies by a signal is a failed test here, not the end of the run.
"""

from __future__ import annotations

import subprocess
import sys

from tests.installing import ROOT


def outcome(module: str, name: str, *arguments: str) -> str:
    """What ``module.name(*arguments)`` returns in a child; a failure that shows the child's end otherwise."""
    program = (
        f"import faulthandler, sys; faulthandler.enable()\n"
        f"from {module} import {name}\n"
        f"sys.stdout.write({name}(*sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{name}{arguments} ended with {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout
