"""The source archive, the wheel built from it, and the wheel in an empty environment."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.installing import ROOT, empty_environment, install, run

USE = """
import sys
import kwire
from kwire.messages.kafka import ApiVersionsRequest

assert not kwire.__file__.startswith(sys.argv[1]), kwire.__file__
message = ApiVersionsRequest(client_software_name="kwire", client_software_version="1")
data = kwire.encode(message, version=3)
assert data == bytes.fromhex("06 6b77697265 02 31 00"), data.hex()
assert kwire.decode(ApiVersionsRequest, data, version=3) == message
assert kwire.reference.decode(ApiVersionsRequest, data, version=3) == message
print("kwire._kwire" in sys.modules)
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what `make wheel` builds, into a temporary folder."""
    folder = tmp_path_factory.mktemp("dist")
    run("make", "wheel", f"DIST={folder}")
    return folder


def only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.timeout(600)
def test_wheel_contains_only_the_packages(dist: Path) -> None:
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = wheel.namelist()

    assert {name.split("/")[0].split("-")[0] for name in names} == {"kwire", "pyspark_kwire"}
    assert "kwire/py.typed" in names
    assert "kwire/_kwire.pyi" in names
    assert "kwire/messages/kafka/__init__.pyi" in names
    templates = [path for path in (ROOT / "python/kwire/report/templates").iterdir() if path.is_file()]
    assert templates
    assert {path.relative_to(ROOT / "python").as_posix() for path in templates} <= set(names)
    assert len([name for name in names if name.endswith((".so", ".pyd"))]) == 1
    assert not [name for name in names if "__pycache__" in name]
    licenses = {name.partition(".dist-info/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licenses == {"LICENSE", "NOTICE", "licenses/THIRD-PARTY"}
    assert [name for name in names if name.endswith("entry_points.txt")]


@pytest.mark.timeout(600)
def test_source_archive_contains_no_build_products(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"Cargo.lock", "Cargo.toml", "LICENSE", "NOTICE", "README.md", "pyproject.toml"} <= names
    assert "licenses/THIRD-PARTY" in names
    assert {"rust/kwire/src/lib.rs", "rust/kwire-py/src/lib.rs", "python/kwire/__init__.py"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc")) or name.startswith("target")]


@pytest.mark.timeout(600)
def test_wheel_works_in_an_empty_environment(dist: Path, tmp_path: Path) -> None:
    python = empty_environment(sys.executable, tmp_path / "empty")
    wheel = only(dist, "*.whl")

    install(python, "--no-deps", wheel)
    assert run(python, "-I", "-W", "error", "-c", USE, str(ROOT)).strip() == "True"

    install(python, f"{wheel}[cli]")
    assert "decode" in run(python, "-I", "-m", "kwire", "--help")
    assert run(python.with_name("kwire"), "--help") == run(python, "-I", "-m", "kwire", "--help")
