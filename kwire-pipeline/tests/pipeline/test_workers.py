"""Requirements of workers: kwire with its compiled module, and the folders of the driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.storage.location import Location, UnsupportedLocation
from kwire_pipeline.ingest.ingest_task import IngestTask
from kwire_pipeline.source.capture_segments import visible_segments

TASK = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from kwire_pipeline.ingest.ingest_task import IngestTask
from kwire.storage.location import Location
from kwire_pipeline.store.commits import PipelineStore
PipelineStore(sys.argv[2])
list(IngestTask(Location.parse(sys.argv[2]), {}, {}, reference_codec=sys.argv[3] == "allowed").ingest(iter(())))
"""


def run_task(package: Path, out: Path, reference_codec: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", TASK, str(package), str(out), reference_codec]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_worker_without_compiled_module_fails_unless_allowed(tmp_path: Path) -> None:
    package = tmp_path / "kwire.zip"
    without_engine = tmp_path / "package" / "kwire"
    shutil.copytree(
        Path(kwire.__file__).parent, without_engine, ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    )
    shutil.make_archive(str(package.with_suffix("")), "zip", without_engine.parent)

    refused = run_task(package, tmp_path / "out", "refused")
    allowed = run_task(package, tmp_path / "out", "allowed")

    assert refused.returncode == 1
    assert "EngineMissing: the Python worker on" in refused.stderr
    assert "install the wheel on the executors" in refused.stderr
    assert allowed.returncode == 0, allowed.stderr


def test_worker_that_does_not_see_folder_of_driver_says_so(tmp_path: Path) -> None:
    store, capture = Location.parse(tmp_path / "out"), str(tmp_path / "capture")
    reason = "the executor on .* does not see this folder of the driver: use a file system that all machines share"

    with pytest.raises(UnsupportedLocation, match=f"{store.given}: {reason}"):
        list(IngestTask(store, {}, {}).ingest(iter(())))
    with pytest.raises(UnsupportedLocation, match=f"{capture}: {reason}"):
        visible_segments(capture)
