"""`.ci/run` counts tests by their ids, and runs a few failed tests a second time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.ci import MAX_RERUNS, Outcome, StepFailed, run_tests

ROOT = Path(__file__).parent.parent
FAILS_AT_FIRST = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.for_rows import for_rows

first = not Path("second").exists()
Path("second").touch()

@for_rows("row", range(5))
def test_rows(row):
    assert row < 2 or not first

def test_other():
    assert not first
"""


def run(folder: Path, tests: str, before: str = "true") -> Outcome:
    """Run a target that runs a command, and then pytest for a file with these tests."""
    (folder / "test_some.py").write_text(tests.format(root=str(ROOT)) if "{root" in tests else tests)
    (folder / "Makefile").write_text(
        f"tests:\n\t{before}\n\t{sys.executable} -m pytest --rootdir=. $(OPTIONS) test_some.py\n"
    )
    return run_tests("tests", root=folder)


@pytest.fixture(autouse=True)
def _own_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what `make test` and pytest hand to the processes that they start."""
    for name in [name for name in os.environ if name.startswith(("MAKE", "MFLAGS", "PYTEST_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing the plugins takes most of the time


def test_passed_tests_are_counted_with_the_time_of_their_file(tmp_path: Path) -> None:
    outcome = run(tmp_path, "def test_one(): pass\ndef test_two(): pass\n")

    assert (outcome.passed, outcome.rerun, [*outcome.seconds]) == (2, [], ["test_some.py"])
    assert outcome.cpu_seconds > 0


def test_test_with_failed_rows_runs_again_and_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pytest's closing lines are `5 failed` and `2 passed`: three rows and two tests, then two tests."""
    outcome = run(tmp_path, FAILS_AT_FIRST)

    assert (outcome.passed, outcome.rerun) == (2, ["test_some.py::test_other", "test_some.py::test_rows"])
    printed = capsys.readouterr().out
    assert "assert 4 < 2" in printed.replace("(", "").replace(")", "")
    assert "failed at first, and passed when run again:\ntest_some.py::test_other\ntest_some.py::test_rows" in printed


@pytest.mark.parametrize(
    ("tests", "before", "reason"),
    [
        pytest.param("def test_one(): assert False", "true", "test_some.py::test_one failed, and did not", id="twice"),
        pytest.param(
            "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_one(n): assert n > {last}".replace(
                "{last}", str(MAX_RERUNS)
            ),
            "true",
            f"{MAX_RERUNS + 1} tests failed",
            id="too many",
        ),
        pytest.param("import nothing_of_this_name", "true", "1 tests failed", id="not imported"),
        pytest.param("", "true", "failed", id="no test"),
        pytest.param("def test_one(): pass", "false", "failed", id="command before pytest"),
        pytest.param(
            "import pytest\ndef test_one(): pytest.skip('no')\ndef test_two(): pass",
            "true",
            "1 of 2 tests",
            id="skipped",
        ),
    ],
)
def test_run_fails(tests: str, before: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match=reason):
        run(tmp_path, tests, before)
