"""Install what the demo needs, and run it: `make demo` in a fresh clone.

    engine (cargo)              -> parts without Spark   -> parts with Spark: incidents, alert
    frames by the codec in Python                       /                     cluster
    libraries of Spark (pip) ......................... /

The two installations take longest, so they run side by side. Captured frames are shown meanwhile, and the other parts
that need no Spark as soon as the engine is built. The part with a cluster mostly waits for its nodes, so it has its own
process; its lines are shown after the other parts. Durations are those of a machine with two processors and a fast
network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.products import PRODUCTS
from scripts.requirements import requirements

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
COMMAND = ("cli",)
SPARK = ("report", "node", "spark")
PRODUCTS_IN_PLACE = [f"--editable=./{name}" for name in PRODUCTS if name != "kwire"]
WITHOUT_ENGINE = ("frames",)
WITHOUT_SPARK = ("speed", "polls")
WITH_SPARK = ("recording", "live")
BESIDE = ("cluster",)
PURE = {"PYTHONPATH": "python", "PYTHONWARNINGS": "ignore:using the slow reference codec:RuntimeWarning"}
"""Environment variables for the package before it is installed, which has no engine yet."""
UNCOMPRESSED = "--config-settings=--build-option=--compression=stored"
"""Option of pip: PySpark has no wheel, and compressing its jars once more for one takes 18 s of a processor."""


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


def demo(*parts: str) -> list[str | Path]:
    """Return the command that runs parts of the demo; without parts it runs all."""
    return [PYTHON, "-m", "examples.demo", *(argument for part in parts for argument in ("--only", part))]


def show(*parts: str, **environment: str) -> None:
    """Run parts of the demo, with further environment variables."""
    subprocess.run(demo(*parts), cwd=ROOT, env=os.environ | environment, check=True)


@contextmanager
def beside(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command beside the block, and show its lines after it.

    A pipe holds 64 KB until it is read; a part of the demo prints 3.

    Raises:
        CalledProcessError: the command failed.
    """
    # In a group of its own, so that Ctrl-C interrupts it once: by the signal below. It stops its own processes then.
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, process_group=0)
    assert process.stdout is not None
    try:
        yield process
        for line in process.stdout:
            print(line, end="", flush=True)
        if process.wait() != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def main() -> None:
    """Install and show everything."""
    start = time.monotonic()
    # The demo starts many processes, and each would compile the modules that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    is_built = ("make", "--question", ".venv/built")
    if subprocess.run(is_built, cwd=ROOT, capture_output=True, check=False).returncode == 0:
        sys.exit(subprocess.run(demo(), cwd=ROOT, check=False).returncode)
    if subprocess.run(["scripts/check_machine.sh", "java"], cwd=ROOT, check=False).returncode != 0:
        sys.exit(1)
    print("Installs into .venv, builds the engine, and shows six parts: 2 to 5 minutes. It contacts no Kafka.")
    # Modules are compiled on import, because the demo imports few of them.
    pip = (PYTHON, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", "constraints.txt")
    if not PYTHON.exists():
        Step("Virtual environment, about 5 s", sys.executable, "-m", "venv", ".venv").wait()
    Step("Build tools, about 5 s", *pip, "--upgrade", "pip", "hatchling", "maturin", *requirements(*COMMAND)).wait()
    # The engine gets the processors first, since most parts need it.
    title = "Libraries of Spark, 400 MB, in the background, about 70 s"
    spark = Step(title, "nice", *pip, UNCOMPRESSED, *requirements(*SPARK))
    # It installs the group `dev` unless it is given another one. Cargo would list every crate.
    maturin = (PYTHON.with_name("maturin"), "develop", "--quiet", "--profile", "quick", "--group", "build")
    title = "Engine in Rust, without link-time optimization, about 95 s"
    engine = Step(title, *maturin, CARGO_TERM_QUIET="true", PIP_QUIET="1")
    try:
        print("Until the engine is built, the codec in Python decodes frames.", flush=True)
        show(*WITHOUT_ENGINE, **PURE)
        engine.wait()
        Step("Other products, about 5 s", *pip, "--no-deps", "--no-build-isolation", *PRODUCTS_IN_PLACE).wait()
        show(*WITHOUT_SPARK)
        print("\nThe other parts need the libraries of Spark.")
        spark.wait()
    finally:
        engine.stop()
        spark.stop()
    print("A cluster runs beside the next two parts; its lines follow.")
    with beside(*demo(*BESIDE)):
        show(*WITH_SPARK)
    print(f"\nInstallation and demo took {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
