"""Install what the demo needs, and run it: `make demo` in a fresh clone.

    engine (cargo)              -> parts without Spark   -> parts with Spark
    libraries of Spark (pip) ......................... /

The two installations take longest, so they run side by side. The parts that need no Spark run as soon as the engine is
built. Durations are those of a machine with two processors and a fast network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
COMMAND = ("cli",)
SPARK = ("report", "node", "spark")
WITHOUT_SPARK = ("frames", "polls")
WITH_SPARK = ("recording", "cluster", "live")


def requirements(*extras: str) -> list[str]:
    """Return the requirements of extras of kwire, which cannot be installed by the extra before kwire is built."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    required: list[str] = []
    for extra in extras:
        for requirement in declared[extra]:
            if requirement.startswith("kwire["):
                required += requirements(*requirement.removeprefix("kwire[").removesuffix("]").split(","))
            else:
                required.append(requirement)
    return list(dict.fromkeys(required))


class Step:
    """A command that runs in the background; its output is shown if it fails.

    Args:
        title: description with its expected time.
        command: the command.
        environment: further environment variables.
    """

    def __init__(self, title: str, *command: str | Path, **environment: str) -> None:
        print(f"  {title} ...", flush=True)
        self._title = title.partition(",")[0]
        self._start = time.monotonic()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `wait`
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> None:
        """Wait for the end of the command; exit if it failed."""
        with self._output:
            if self._process.wait() != 0:
                self._output.seek(0)
                sys.stderr.write(self._output.read().decode(errors="replace"))
                sys.exit(f"failed: {self._title}")
        print(f"  {time.monotonic() - self._start:5.1f} s  {self._title}", flush=True)

    def stop(self) -> None:
        """End the command if it is still running."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def show(*parts: str) -> None:
    """Run parts of the demo."""
    arguments = [argument for part in parts for argument in ("--only", part)]
    subprocess.run([PYTHON, "-m", "examples.demo", *arguments], cwd=ROOT, check=True)


def main() -> None:
    """Install and show everything."""
    start = time.monotonic()
    is_built = ("make", "--question", ".venv/built")
    if subprocess.run(is_built, cwd=ROOT, capture_output=True, check=False).returncode == 0:
        sys.exit(subprocess.run([PYTHON, "-m", "examples.demo"], cwd=ROOT, check=False).returncode)
    if subprocess.run(["scripts/check_machine.sh", "java"], cwd=ROOT, check=False).returncode != 0:
        sys.exit(1)
    print("Installs into .venv, builds the engine, and shows five parts: about 3 minutes. It contacts no Kafka.")
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt")
    if not PYTHON.exists():
        Step("Virtual environment, about 5 s", sys.executable, "-m", "venv", ".venv").wait()
    Step("Build tools, about 5 s", *pip, "--upgrade", "pip", "maturin", *requirements(*COMMAND)).wait()
    spark = Step("Libraries of Spark, 400 MB, in the background", *pip, *requirements(*SPARK))
    try:
        # Cargo would list every crate otherwise.
        maturin = (PYTHON.with_name("maturin"), "develop", "--quiet", "--release")
        Step("Engine in Rust, about 60 s", *maturin, CARGO_TERM_QUIET="true", PIP_QUIET="1").wait()
        show(*WITHOUT_SPARK)
        print("\nThe other parts need the libraries of Spark.")
        spark.wait()
    finally:
        spark.stop()
    show(*WITH_SPARK)
    print(f"\nInstallation and demo took {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
