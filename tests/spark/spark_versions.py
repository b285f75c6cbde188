"""Programs that need a Spark of their own: another version of PySpark, or another kind of session."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.installing import ROOT, package_folder


def run_program(program: str, *arguments: object, version: str | None = None) -> str:
    """Run a Python program, and return what it prints.

    Args:
        program: the source.
        arguments: of the program.
        version: the version of PySpark [default: the installed one].

    Raises:
        CalledProcessError: it failed.
    """
    packages = [ROOT / "python", ROOT]
    if version is not None:
        packages = [package_folder("pyspark", version, "--no-deps"), *packages]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
