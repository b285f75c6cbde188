"""`kafka tools new` writes a package that passes its own test and is found once it is installed.

tests/lint checks its types.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.running import kwire

if TYPE_CHECKING:
    from pathlib import Path


def test_new_tool_passes_its_own_test_and_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    written = kwire("tools", "new", "count-topics", "--folder", package)
    assert (written.code, written.err) == (0, "")
    assert sorted(path.name for path in package.iterdir()) == [
        "README.md",
        "count_topics.py",
        "pyproject.toml",
        "test_count_topics.py",
    ]
    own_test = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(package), str(package)]
    done = subprocess.run(own_test, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    # What `pip install` writes beside the module, so that entry points are found.
    metadata = package / "kwire_count_topics-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kwire-count-topics\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[kwire.tools]\ncount-topics = count_topics:count_topics\n")
    path = f"{package}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    listed = kwire("tools", "list", "-o", "json", PYTHONPATH=path)
    assert '"name": "count-topics"' in listed.out, listed.err
    (package / "count_topics.py").write_text("import nosuch\n")
    broken = kwire("tools", "list", PYTHONPATH=path)
    assert broken.code == 0
    assert "count-topics" not in broken.out
    assert "get-offset-shell" in broken.out
    assert broken.err == (
        "Warning: tool count-topics of count_topics:count_topics cannot be used: "
        "ModuleNotFoundError: No module named 'nosuch'\n"
    )
    unusable = kwire("tools", "run", "count-topics", PYTHONPATH=path)
    assert unusable.code == 2
    assert "tool count-topics of count_topics:count_topics cannot be used" in unusable.err


def test_folder_with_content_stays(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    refused = kwire("tools", "new", "count-topics", "--folder", tmp_path)
    assert refused.code == 1
    assert refused.err == f"Error: cannot write {tmp_path}: the folder contains something.\n"
    wrong = kwire("tools", "new", "Count_Topics", "--folder", tmp_path / "other")
    assert wrong.code == 2
    assert "expected lower-case words with hyphens" in wrong.err
