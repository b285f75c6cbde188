"""Licenses of what the wheel contains (`scripts/licenses.py`)."""

from __future__ import annotations

import re
import subprocess
import tomllib

from scripts.licenses import ROOT, WRITTEN, license_files, linked_crates

CRATE = re.compile(r"^(\S+) (\d\S*): .", re.MULTILINE)
"""The line of a crate at the top of the file: name, version, and license."""


def host() -> str:
    """Return the platform that crates are built for here. Crates of other platforms are possibly not downloaded."""
    run = subprocess.run(["rustc", "--version", "--verbose"], capture_output=True, text=True, check=True)
    return run.stdout.partition("host: ")[2].split()[0]


def test_every_linked_crate_has_its_license_texts() -> None:
    written = WRITTEN.read_text(encoding="utf-8")
    crates = linked_crates(host(), offline=True)
    assert {"libmimalloc-sys", "snap", "zlib-rs", "zstd-sys"} <= {crate["name"] for crate in crates}

    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        assert f"\n{name}: {crate['license']}\n" in written, "run python scripts/licenses.py"
        for file in license_files(crate):
            text = "\n".join(line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()).strip()
            assert f"{name}, {file.name}\n" in written
            assert text in written


def test_no_crate_is_written_that_is_not_locked_in_its_version() -> None:
    with (ROOT / "Cargo.lock").open("rb") as file:
        locked = {(package["name"], package["version"]) for package in tomllib.load(file)["package"]}

    written = set(CRATE.findall(WRITTEN.read_text(encoding="utf-8").partition("====")[0]))

    assert written
    assert written <= locked, "run python scripts/licenses.py"
