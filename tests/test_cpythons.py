"""The core of the test suite, on every CPython from 3.11 on that this machine has.

The engine reaches into objects whose layout CPython changes between minor versions, so each gets a wheel of its own in
an environment of its own. The interpreter that runs the suite runs all of it, and is left out unless it is alone.
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
"""What is about objects, and about what the interpreter does with them."""

ABOUT = (
    "import platform, sys, sysconfig;"
    "print(platform.python_implementation(), '%d.%d' % sys.version_info[:2], sys.version_info.releaselevel,"
    " sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sysconfig.get_config_var('Py_DEBUG') or 0)"
)


def candidates() -> list[Path]:
    """Interpreters by name on the path, then those that pyenv keeps."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    on_path = [folder / f"python3.{minor}" for folder in folders for minor in range(11, 30)]
    kept = sorted(pyenv.glob("versions/*/bin/python3"))
    return [python for python in [*on_path, *kept] if python.is_file()]


def cpythons() -> dict[str, Path]:
    """Version -> an interpreter: released CPythons from 3.11 on in their ordinary build."""
    found: dict[str, Path] = {}
    for python in candidates():
        about = subprocess.run([python, "-I", "-c", ABOUT], capture_output=True, text=True, check=False)
        if about.returncode != 0:
            continue  # one of pyenv's stand-ins, for a version that is not chosen
        implementation, version, level, free_threaded, debug = about.stdout.split()
        ordinary = (implementation, level, free_threaded, debug) == ("CPython", "final", "0", "0")
        if ordinary and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, python)
    return found


RUNNING = "{}.{}".format(*sys.version_info)
OTHERS = {version: python for version, python in cpythons().items() if version != RUNNING}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", sorted(OTHERS) or [RUNNING])
def test_the_core_of_the_suite_passes(version: str, tmp_path: Path) -> None:
    interpreter = OTHERS.get(version, Path(sys.executable))
    build = (sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--interpreter", interpreter)
    run(*build, "--out", tmp_path, CARGO_TARGET_DIR=str(ROOT / "target" / f"cpython-{version}"))
    python = empty_environment(interpreter, tmp_path / "environment")
    [wheel] = tmp_path.glob("*.whl")
    install(python, "--group", "test", f"{wheel}[cli]")

    core = [f"tests/{name}" for name in CORE]
    output = run(python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *core)

    assert " passed" in output.splitlines()[-1], output
