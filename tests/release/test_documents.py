"""The pages from the installed wheel: only the extras that a page names are installed, and nothing of the repository.

Each set of extras is one environment. Pages that need a cluster are run from the sources in `tests/kafka` of
kwire-admin; here, what they import must be installed.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, README, as_module, console_examples, interactive, programs
from tests.for_rows import for_rows
from tests.installing import ROOT, empty_environment, install, run

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRA = re.compile(r"kwire\[([a-z, ]+)\]")
OTHER_PACKAGE = re.compile(r"`pip install ([a-z]+)`")
CONSOLE = (DOCS / "library.md", DOCS / "cli.md")
"""Pages with commands that need no cluster."""
WITHOUT_INSTALLATION = {"reference", "design", "explanation"}
"""Folders with pages that explain, and install nothing."""
WITH_SPARK = "spark"
"""PySpark has no wheel and takes minutes to install; the tests of kwire-pipeline run the pages about it."""

RUN_EXAMPLES = """
import os
import sys
import tempfile
from pathlib import Path
import kwire
root, page = sys.argv[1:]
assert not kwire.__file__.startswith(root), kwire.__file__
sys.path.append(root)  # for the runner; the kwire of the environment is found first
from tests.docs.pages import run_interactive
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.symlink(f"{root}/tests", "tests")  # some pages read recordings
    run_interactive(Path(page))
    os.chdir(root)
"""


def pages() -> list[Path]:
    """Return the pages with code."""
    found = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in WITHOUT_INSTALLATION]
    return [page for page in (README, *sorted(found)) if interactive(page) or programs(page) or page in CONSOLE]


@cache
def extras(page: Path) -> frozenset[str]:
    """Return the extras that a page names, without PySpark's."""
    named = ",".join(EXTRA.findall(page.read_text(encoding="utf-8"))).replace(" ", "")
    return frozenset(named.split(",")) - {"", WITH_SPARK}


@cache
def other_packages(page: Path) -> frozenset[str]:
    """Return the packages beside kwire that a page names."""
    return frozenset(OTHER_PACKAGE.findall(page.read_text(encoding="utf-8"))) - {"kwire"}


class Environments:
    """One virtual environment for each set of extras and other packages."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        self._folder = folder
        self._wheels = wheels
        self._pythons: dict[frozenset[str], Path] = {}

    def python(self, page: Path) -> Path:
        """Return the interpreter with the extras of a page."""
        names, others = sorted(extras(page)), sorted(other_packages(page))
        key = frozenset((*names, *others))
        if key not in self._pythons:
            folder = self._folder / ("-".join((*names, *others)) or "none")
            python = self._pythons[key] = empty_environment(sys.executable, folder)
            [wheel] = self._wheels.glob("kwire-*-cp*.whl")
            wanted = f"{wheel}[{','.join(names)}]" if names else str(wheel)
            install(python, "--find-links", self._wheels, wanted, *others)
        return self._pythons[key]


@pytest.fixture(scope="module")
def environments(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("environments"), dist)


@pytest.mark.timeout(900)
@for_rows("page", [page for page in pages() if interactive(page)])
def test_interactive_examples_print_what_the_page_shows(environments: Environments, page: Path) -> None:
    run(environments.python(page), "-I", "-c", RUN_EXAMPLES, ROOT, page)


@pytest.mark.timeout(900)
@for_rows(("page", "line", "output"), [(page, *example) for page in CONSOLE for example in console_examples(page)])
def test_commands_print_what_the_page_shows(environments: Environments, page: Path, line: str, output: str) -> None:
    path = f"{environments.python(page).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": path, "HOME": os.environ["HOME"], "TERM": "xterm"},
        check=False,
    )
    assert done.stdout == output, line


@pytest.mark.timeout(900)
@for_rows("page", pages())
def test_imports_of_all_programs_are_installed(environments: Environments, page: Path) -> None:
    statements = "\n".join(imports(page))
    run(environments.python(page), "-I", "-c", f"{statements}\nprint()")


def imports(page: Path) -> Iterator[str]:
    """Yield the import statements of a page, without those of PySpark."""
    for node in ast.walk(ast.parse(as_module(page))):
        if isinstance(node, ast.Import | ast.ImportFrom) and "spark" not in ast.unparse(node):
            yield ast.unparse(node)
