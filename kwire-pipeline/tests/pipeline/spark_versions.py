"""Programs that need a Spark of their own: another version of PySpark, or another kind of session.

    python -m tests.pipeline.spark_versions 4.0.0

writes the folder of that version, which pip downloads once, for PYTHONPATH (`make test-spark`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from tests.installing import ROOT, package_folder


def run_program(program: str, *arguments: object, version: str | None = None) -> str:
    """Run a Python program, and return what it prints.

    Args:
        program: the source.
        arguments: of the program.
        version: the version of PySpark [default: the version of this process].

    Raises:
        CalledProcessError: it failed.
    """
    folder = Path(pyspark.__file__).parents[1] if version is None else spark_folder(version)
    packages = [folder, ROOT / "python", ROOT]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def spark_folder(version: str) -> Path:
    """Return the folder with a version of PySpark, for PYTHONPATH."""
    return package_folder("pyspark", version, "--no-deps")


if __name__ == "__main__":
    sys.stdout.write(f"{spark_folder(sys.argv[1])}\n")
