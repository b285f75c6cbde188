"""Every test is in `.ci/run` or in a group of `make nightly`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.nightly import GROUPS, command, turn
from tests.for_rows import for_rows

ROOT = Path(__file__).parent.parent
FIXTURES = "import pytest\n@pytest.fixture\ndef kafka39(): pass\n@pytest.fixture\ndef kafka44(): pass\n"
TESTS = {
    "kwire-admin/tests/kafka/fixtures.py": FIXTURES,
    "kwire-admin/tests/kafka/test_a.py": "def test_a(kafka44): pass\nclass kafka39: pass\n",
    "kwire-admin/tests/kafka/test_b.py": "import pytest\npytestmark = pytest.mark.change\n"
    "def test_b(kafka44): pass\ndef test_old(kafka39): pass\n"
    "@pytest.mark.parametrize('cluster', ['kafka39', 'kafka44'])\ndef test_each(cluster): pass\n",
    "tests/release/test_c.py": "import pytest\ndef test_c(): pass\n@pytest.mark.change\ndef test_c_change(): pass\n",
    "tests/test_d.py": "import pytest\ndef test_d(): pass\n"
    "@pytest.mark.programs\ndef test_program(): pass\n"
    "@pytest.mark.nightly\ndef test_slow(): pass\n",
}
EACH_CHANGE = {"test_b", "test_each[kafka44]", "test_c_change", "test_d"}
NIGHTLY = {"test_a", "test_old", "test_each[kafka39]", "test_c", "test_program", "test_slow"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with the rules of this repository and a few tests."""
    for name, text in TESTS.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    return tmp_path


def collected(tree: Path, *options: str) -> list[str]:
    """Return the names of the tests that pytest selects."""
    pytest_options = [
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        f"--rootdir={tree}",
        "-o",
        "pythonpath=. kwire-admin",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *pytest_options, *options, "."],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 5}, done.stdout + done.stderr  # 5: no test
    return re.findall(r"::(test_\S+)", done.stdout)


def test_each_test_is_nightly_or_of_each_change(tree: Path) -> None:
    assert set(collected(tree, "-m", "not nightly")) == EACH_CHANGE
    assert set(collected(tree, "-m", "nightly")) == NIGHTLY


def test_shares_have_each_test_once_and_divide_no_file(tree: Path) -> None:
    shares = [collected(tree, "-m", "nightly", f"--share={k}/3") for k in (1, 2, 3)]

    assert sorted(name for share in shares for name in share) == sorted(NIGHTLY)
    [with_old] = [share for share in shares if "test_old" in share]
    assert "test_each[kafka39]" in with_old


@for_rows("name", [*GROUPS])
def test_group_is_a_target_of_make(name: str) -> None:
    done = subprocess.run([*command(GROUPS[name]), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_turn_is_a_group() -> None:
    assert turn() in GROUPS


def test_list_is_the_matrix_of_the_workflow() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "scripts.nightly", "--list"], cwd=ROOT, capture_output=True, check=True
    )

    assert json.loads(listed.stdout) == [*GROUPS]
