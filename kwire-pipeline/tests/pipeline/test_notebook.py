"""The notebook examples/tables.ipynb runs over the tables of the recordings, in a kernel of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.programs

NOTEBOOK = ROOT / "examples" / "tables.ipynb"


def outputs(notebook: Any) -> list[str]:
    """Return the printed text of each code cell."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        "".join("".join(each["text"]) for each in cell["outputs"] if each["output_type"] == "stream") for cell in cells
    ]


def test_notebook_shows_what_happened(recorded_gold: str, tmp_path: Path) -> None:
    assert not any(outputs(json.loads(NOTEBOOK.read_text())))
    executed = tmp_path / "executed.ipynb"
    environment = os.environ | {"KWIRE_OUT": recorded_gold, "IPYTHONDIR": str(tmp_path / "ipython")}

    command = [sys.executable, "-m", "jupyter", "execute", f"--output={executed}", str(NOTEBOOK)]
    subprocess.run(command, env=environment, check=True, timeout=240)

    _, incidents, outages, intervals, load, configs, groups = outputs(json.loads(executed.read_text()))
    assert "kraft44-public" in incidents
    for shown, column in ((outages, "first_sign"), (intervals, "partition_seconds"), (load, "of_fair_share")):
        assert column in shown
        assert " 0 rows" not in shown
    assert "old_value" in configs
    assert " 0 rows" in groups  # the recordings have metadata and configs only
