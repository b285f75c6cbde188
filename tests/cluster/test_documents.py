"""The examples of docs/admin.md, and the settings of docs/node.md."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from kwire.cluster.node.settings import NodeSettings

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```$", (DOCS / "admin.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("example", EXAMPLES, ids=["asyncio", "blocking"])
def test_examples_run(example: str) -> None:
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "['audit', 'orders']" in ran.stdout or '"is_controller": true' in ran.stdout


def test_page_lists_the_settings_of_a_node() -> None:
    page = (DOCS / "node.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z.]+)`", "\n".join(re.findall(r"^\| `.*$", page, re.MULTILINE))))
    known = {each.metadata["name"] for each in fields(NodeSettings) if each.metadata}
    assert named - {"node.id"} <= known
    assert known - named == {"controller.socket.timeout.ms"}
