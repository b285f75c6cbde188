"""The extra of the package that brings a missing library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kwire._util.products import ENGINE_MISSING, install_hint
from kwire.testing import FakeCluster

WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
from kwire.cli import main
sys.argv = ["kafka", *{words!r}]
main()
"""


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("numpy", "this needs numpy: pip install 'kwire[reassign]'"),
        ("prompt_toolkit.history", "this needs prompt_toolkit: pip install 'kwire[cli]'"),
        ("yaml", "this needs yaml: pip install 'kwire[cli]'"),
        ("kwire._kwire", ENGINE_MISSING),
        ("kwire.nosuch", None),
        ("nosuch", None),
    ],
)
def test_hint_names_the_extra(module: str, hint: str | None) -> None:
    assert install_hint(ModuleNotFoundError(f"No module named {module!r}", name=module)) == hint


def run_without(names: list[str], words: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    program = WITHOUT.format(names=names, words=words)
    return subprocess.run([sys.executable, "-c", program], input=stdin, capture_output=True, text=True, check=False)


def test_command_that_needs_an_extra_names_it() -> None:
    with FakeCluster(3, topics=["orders"]) as cluster:
        plan = ["-b", cluster.bootstrap, "reassign", "plan", "--drain", "3", "--file", "unwritten.json"]
        run = run_without(["numpy"], plan)
        assert (run.returncode, run.stderr) == (2, "Error: this needs numpy: pip install 'kwire[reassign]'\n")


def test_shell_continues_after_a_statement_that_needs_an_extra() -> None:
    with FakeCluster(3, topics=["orders"]) as cluster:
        script = "reassign-partitions plan --drain 3 --file unwritten.json;topics list;"
        run = run_without(["numpy"], ["shell", "-b", cluster.bootstrap, "--keep-going"], script)
        assert "this needs numpy: pip install 'kwire[reassign]'" in run.stderr
        assert "orders" in run.stdout
