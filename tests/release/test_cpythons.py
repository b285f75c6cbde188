"""The core tests on every released CPython from 3.11 on that is installed on this machine.

The engine depends on object layouts that CPython changes between minor versions, so each version gets its own wheel and
virtual environment. The running interpreter is skipped if there are others, because it runs the whole suite anyway.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import ROOT, empty_environment, install, run

CORE = (
    "declare",
    "hostile",
    "messages",
    "proof",
    "reference",
    "soundness",
    "test_frame.py",
    "test_jsonform.py",
    "test_regressions.py",
)
"""Tests of objects and of their interaction with the interpreter."""

ABOUT = (
    "import platform, sys, sysconfig;"
    "print(platform.python_implementation(), '%d.%d' % sys.version_info[:2], sys.version_info.releaselevel,"
    " sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sysconfig.get_config_var('Py_DEBUG') or 0)"
)


def candidates() -> list[Path]:
    """Return the interpreters on the path, then those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    on_path = [folder / f"python3.{minor}" for folder in folders for minor in range(11, 30)]
    of_pyenv = sorted(pyenv.glob("versions/*/bin/python3"))
    return [python for python in [*on_path, *of_pyenv] if python.is_file()]


def cpythons() -> dict[str, Path]:
    """Return an interpreter for each version: released CPythons from 3.11 on, in ordinary builds with the GIL."""
    found: dict[str, Path] = {}
    for python in candidates():
        about = subprocess.run([python, "-I", "-c", ABOUT], capture_output=True, text=True, check=False)
        if about.returncode != 0:
            continue  # a pyenv shim for a version that is not selected
        implementation, version, level, free_threaded, debug = about.stdout.split()
        ordinary = (implementation, level, free_threaded, debug) == ("CPython", "final", "0", "0")
        if ordinary and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, python)
    return found


RUNNING = "{}.{}".format(*sys.version_info)
OTHERS = {version: python for version, python in cpythons().items() if version != RUNNING}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", sorted(OTHERS) or [RUNNING])
def test_core_tests_pass(version: str, tmp_path: Path) -> None:
    interpreter = OTHERS.get(version, Path(sys.executable))
    build = (sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--interpreter", interpreter)
    run(*build, "--out", tmp_path, CARGO_TARGET_DIR=str(ROOT / "target" / f"cpython-{version}"))
    python = empty_environment(interpreter, tmp_path / "environment")
    [wheel] = tmp_path.glob("*.whl")
    install(python, "--group", "test", f"{wheel}[cli]")

    core = [f"tests/{name}" for name in CORE]
    output = run(python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *core)

    assert " passed" in output.splitlines()[-1], output
