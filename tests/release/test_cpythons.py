"""The codec on every CPython that kwire supports, and its objects under the assertions of debug builds.

The engine depends on object layouts that CPython changes between minor versions, so each version gets its own wheel and
virtual environment. The running interpreter is left out, because it runs the whole suite anyway.
`scripts/interpreter.py` finds or fetches the others; one that is missing is a failure.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from scripts.requirements import requirements
from scripts.wheel_tests import CODEC
from tests.installing import ROOT, empty_environment, install, run

SOUNDNESS = ("soundness", "decoder/test_soundness.py", "proof/test_uniform_structs.py", "proof/test_tagged_structs.py")
"""Tests that would break invariants of the interpreter if the engine did."""

DEBUG = ("3.14", pytest.param("3.15", marks=pytest.mark.change))
"""Versions with a debug build in Debian unstable; each change is tested with the newest one."""

IMPORT_ALL = """
import importlib, pkgutil, sys
import kwire

imported = 0
for module in pkgutil.walk_packages(kwire.__path__, "kwire.", onerror=lambda name: None):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        assert not error.name.startswith("kwire"), error  # a library of an extra that is not installed
    else:
        imported += 1
print(imported)
"""


def supported() -> list[str]:
    """Return the versions that the classifiers of the package name."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    versions = [
        text.rpartition(" ")[2] for text in classifiers if text.startswith("Programming Language :: Python :: 3.")
    ]
    assert len(versions) >= 5, versions
    return versions


RUNNING = "{}.{}".format(*sys.version_info)
NEWEST = supported()[-1]


def environment(version: str, folder: Path, *options: str) -> Path:
    """Build kwire for a version, and return the interpreter of an environment with it.

    Args:
        version: the version, with `-dbg` for a debug build.
        folder: a folder for the environment.
        options: of the build.
    """
    interpreter = run(sys.executable, "scripts/interpreter.py", version).strip()
    build = (sys.executable, "-m", "maturin", "build", "--profile", "cpythons", "--quiet", "--interpreter", interpreter)
    run(*build, *options, "--out", folder, CARGO_TARGET_DIR=str(ROOT / "target"))
    python = empty_environment(interpreter, folder / "environment")
    [wheel] = folder.glob("*.whl")
    install(python, "--group", "test-codec", wheel, *requirements("capture", "cli"))
    return python


def run_tests(python: Path, names: tuple[str, ...], *options: str) -> None:
    """Run tests with a Hypothesis profile of fewer examples: the search for new ones is not for each version."""
    tests = [f"tests/{name}" for name in names]
    pytest_options = ("-p", "no:cacheprovider", "--quiet", "--numprocesses=2", "--hypothesis-profile=brief")
    output = run(python, *options, "-m", "pytest", *pytest_options, *tests)
    closing = output.splitlines()[-1]
    assert " passed" in closing, output
    assert "failed" not in closing, output


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", [version for version in supported() if version != RUNNING])
def test_codec_works(version: str, tmp_path: Path) -> None:
    python = environment(version, tmp_path)

    run_tests(python, CODEC)
    if version == NEWEST:
        # Without cached bytecode, because the compiler also emits warnings.
        cache = f"pycache_prefix={tmp_path / 'compiled'}"
        assert int(run(python, "-I", "-W", "error", "-X", cache, "-c", IMPORT_ALL)) > 450


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", DEBUG)
def test_assertions_of_cpython_hold(version: str, tmp_path: Path) -> None:
    """The build switch adopts classes, which happens under ordinary builds only."""
    python = environment(f"{version}-dbg", tmp_path, "--features", "adopt-in-debug-builds")

    run_tests(python, SOUNDNESS, "-X", "dev")


def test_missing_interpreter_is_an_error_that_says_how_to_get_it(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    with pytest.raises(AssertionError) as error:
        run(sys.executable, "scripts/interpreter.py", "3.15-dbg", **nothing)

    assert "there is no CPython 3.15-dbg on PATH or in pyenv, and it cannot be fetched: this needs apt-get" in str(
        error.value
    )
    assert "pyenv install 3.15 --debug" in str(error.value)
