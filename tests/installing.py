"""Helpers for tests that run commands of the repository and install kwire into empty environments."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real_kafka.jars import cache_folder

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / "constraints.txt"


def run(*command: str | Path, **environment: str) -> str:
    """Run a command at the top of the repository, without variables of the test run, and return its output."""
    unwanted = ("MAKE", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=inherited | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def empty_environment(python: str | Path, where: Path) -> Path:
    """Create a virtual environment without any package, not even pip, and return its interpreter."""
    run(python, "-m", "venv", "--without-pip", where)
    return where / "bin" / "python"


def install(python: Path, *requirements: str | Path) -> None:
    """Install packages into the environment of `python`, at the versions pinned in `constraints.txt`.

    Modules are compiled on import: a test imports few of them, and debug builds compile slowly.
    """
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
    run(*pip, "-c", CONSTRAINTS, *requirements)


def package_folder(name: str, version: str, *options: str) -> Path:
    """Return a folder with a package of its own, for `sys.path`; pip installs it on the first call.

    The folder is renamed once it is complete, so several processes may call this at a time.

    Args:
        name: the package.
        version: its version.
        options: of pip.
    """
    folder = cache_folder() / f"{name}-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as partial:
            target = Path(partial) / "packages"
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", target)
            run(*pip, *options, f"{name}=={version}")
            try:
                target.rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another process installed it
                    raise
    return folder
