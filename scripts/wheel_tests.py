"""Run the tests of the codec on an installed wheel, before it is published.

    python -m scripts.wheel_tests DIST

Installs the wheel of this interpreter from the folder DIST into an empty environment, and runs `CODEC` there. The
release workflow does that on each platform; `tests/release` does the same on each CPython.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from scripts.products import PRODUCTS
from scripts.requirements import requirements

ROOT = Path(__file__).parent.parent
CODEC = (
    "test_uuids.py",
    "columnar/test_content.py",
    "columnar/test_limits.py",
    "columnar/test_tagged_structs.py",
    "declare",
    "decoder",
    "hostile/test_memory.py",
    "hostile/test_no_panic.py",
    "messages",
    "proof",
    "records",
    "reference",
    "soundness",
    "test_codec.py",
    "test_frame.py",
    "test_jsonform.py",
    "test_regressions.py",
    "views",
)
"""Tests of objects and of their interaction with the interpreter, below `tests`."""


def main() -> None:
    """Install the wheel and run the tests."""
    [dist] = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="kwire-wheel-") as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python = str(scripts / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt"]
        check([*pip, "--upgrade", "pip"])
        # Only the tested package must come from DIST, and it must not be replaced by one of an index.
        check([*pip, "--find-links", dist, "--no-index", "--no-deps", "--only-binary", "kwire", *PRODUCTS])
        check([*pip, "--group", "test-codec", *requirements("capture", "cli")])
        check([python, "-I", "-c", "import kwire, kwire._kwire"])
        tests = [f"tests/{name}" for name in CODEC]
        check([python, "-m", "pytest", "--quiet", "--numprocesses=auto", "--hypothesis-profile=brief", *tests])


def check(command: list[str]) -> None:
    """Run a command at the top of the repository, and exit with its code if it fails."""
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
