"""Programs that need a Spark of their own: another version of PySpark, or another kind of session."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kwire.testing.kafka.jars import cache_folder
from tests.installing import ROOT


def pyspark(version: str) -> Path:
    """Return a folder with that version of PySpark; pip downloads it on the first call.

    The folder is renamed once it is complete, so several processes may call this at a time.
    """
    folder = cache_folder() / f"pyspark-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as partial:
            target = Path(partial) / "packages"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
            subprocess.run([*pip, f"pyspark=={version}"], check=True)
            try:
                target.rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another process installed it
                    raise
    return folder


def run_program(program: str, *arguments: object, version: str | None = None) -> str:
    """Run a Python program, and return what it prints.

    Args:
        program: the source.
        arguments: of the program.
        version: the version of PySpark [default: the installed one].

    Raises:
        CalledProcessError: it failed.
    """
    packages = [ROOT / "python", ROOT] if version is None else [pyspark(version), ROOT / "python", ROOT]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
