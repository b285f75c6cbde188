"""`kwire.metadata` is pure: it does not load I/O or data frames."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kwire.metadata

MODULES = sorted(path.stem for path in Path(kwire.metadata.__file__).parent.glob("[!_]*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_module_loads_no_io(module: str) -> None:
    program = f"import sys, kwire.metadata.{module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert not loaded & {"pyarrow", "asyncio", "socket", "pyspark", "rich", "click"}
    assert not any(name.startswith(("kwire.client", "kwire.capture", "kwire_pipeline")) for name in run.stdout.split())
