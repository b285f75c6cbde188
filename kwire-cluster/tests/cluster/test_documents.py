"""The examples of docs/admin.md."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.usefixtures("java")

DOCS = ROOT / "docs"
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```$", (DOCS / "admin.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("example", EXAMPLES, ids=["asyncio", "blocking"])
def test_examples_run(example: str) -> None:
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "['audit', 'orders']" in ran.stdout or '"is_controller": true' in ran.stdout
