"""The source archive, the wheels, and what pip installs from them into empty environments."""

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

COMPILED = "kwire-*-cp*.whl"
PURE = "kwire-*-py3-none-any.whl"

PYPY = "pypy3.11"
ON_PYPY = ("messages/test_worked_bytes.py", "messages/test_groups.py", "test_frame.py")
"""Tests of messages that compare with bytes of Kafka. All of them take a minute of CPU there."""


def only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.timeout(600)
def test_wheel_contains_only_the_packages(dist: Path) -> None:
    with zipfile.ZipFile(only(dist, COMPILED)) as wheel:
        names = wheel.namelist()

    assert {name.split("/")[0].split("-")[0] for name in names} == {"kwire"}
    assert "kwire/py.typed" in names
    assert "kwire/_kwire.pyi" in names
    assert "kwire/messages/kafka/__init__.pyi" in names
    assert len([name for name in names if name.endswith((".so", ".pyd"))]) == 1
    assert not [name for name in names if "__pycache__" in name]
    licenses = {name.partition(".dist-info/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    assert licenses == {"LICENSE", "NOTICE", "licenses/THIRD-PARTY"}
    assert [name for name in names if name.endswith("entry_points.txt")]
    with zipfile.ZipFile(only(dist, PURE)) as wheel:
        pure = wheel.namelist()
    # A list of the crates in the module.
    assert set(names) - set(pure) == {name for name in names if name.endswith((".so", ".pyd")) or "/sboms/" in name}
    assert set(pure) <= set(names)


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
    wheel = only(dist, COMPILED)

    install(python, "--no-deps", wheel)
    assert run(python, "-I", "-W", "error", "-c", USE, str(ROOT)).strip() == "True"

    assert not python.with_name("kafka").exists()

    install(python, "--find-links", dist, f"{wheel}[cli]")
    assert "decode" in run(python, "-I", "-m", "kwire", "--help")
    assert run(python.with_name("kwire"), "--help") == run(python, "-I", "-m", "kwire", "--help")
    assert "topics" in run(python.with_name("kafka"), "--help")
    assert run(sys.executable, "-m", "pip", "--python", python, "check").strip() == "No broken requirements found."


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ((), COMPILED),
        (("--platform=musllinux_1_2_riscv64", "--python-version=3.11"), PURE),
        (("--platform=manylinux_2_28_x86_64", "--implementation=cp", "--python-version=3.19"), PURE),
        (("--platform=manylinux_2_28_x86_64", "--implementation=pp", "--python-version=3.11"), PURE),
    ],
    ids=["this machine", "another machine", "a newer CPython", "PyPy"],
)
def test_pip_chooses_the_compiled_wheel_only_where_it_fits(
    dist: Path, tmp_path: Path, options: tuple[str, ...], chosen: str
) -> None:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-index", "--no-deps", "--only-binary=:all:")

    run(*pip, *options, "--find-links", dist, "--dest", tmp_path, "kwire")

    assert [file.name for file in tmp_path.iterdir()] == [only(dist, chosen).name]


@pytest.mark.timeout(900)
def test_pure_wheel_works_on_pypy(dist: Path, tmp_path: Path) -> None:
    interpreter = run(sys.executable, "scripts/interpreter.py", PYPY).strip()
    python = empty_environment(interpreter, tmp_path / "environment")
    install(python, "--no-index", "--no-deps", "--find-links", dist, "kwire")
    install(python, "hypothesis", "pytest", "pytest-asyncio", "pytest-timeout")

    *warning, loaded = run(python, "-I", "-c", USE, str(ROOT)).splitlines()
    assert loaded == "False"
    assert [line for line in warning if "RuntimeWarning" in line] == warning[:1]
    assert "No module named 'kwire._kwire'" in warning[0]

    options = ("-p", "no:cacheprovider", "--quiet", "--hypothesis-profile=brief")
    expected = ("-W", "ignore:using the slow reference codec:RuntimeWarning")
    output = run(python, "-m", "pytest", *options, *expected, *(f"tests/{name}" for name in ON_PYPY))
    assert " passed" in output.splitlines()[-1], output
