"""Write the licenses of what the wheel contains besides kwire: `python scripts/licenses.py`.

The native module contains the crates that it is linked with, and some of these contain C libraries. Their licenses
require that the texts come with the binary. `licenses/THIRD-PARTY` has them, from the sources of the crates that
Cargo.lock names. Crates that only build or test others are not in the wheel.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WRITTEN = ROOT / "licenses" / "THIRD-PARTY"
PLATFORMS = (
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
)
"""The platforms that wheels are built for."""
NAMES = ("license", "licence", "copying", "copyright", "notice", "unlicense")
LIBRARIES = {"libmimalloc-sys": "c_src/mimalloc/v3", "zstd-sys": "zstd"}
"""The folders of C libraries in crates."""

HEAD = """\
The native module of kwire (kwire/_kwire) contains the software below. Each part is followed by its license texts. Where
a license is a choice, any of them may be taken. It also contains parts of the standard library of Rust (Copyright The
Rust Project Developers: MIT OR Apache-2.0).
"""


def linked_crates(*platforms: str, offline: bool = False) -> list[dict[str, Any]]:
    """Return the crates of other authors that the native module is linked with on some platforms, by name."""
    options = [*(f"--filter-platform={platform}" for platform in platforms), *(["--offline"] if offline else [])]
    command = ["cargo", "metadata", "--format-version=1", "--locked", *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    metadata = json.loads(run.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "kwire-py"]
    linked: set[str] = set()
    while waiting:
        id = waiting.pop()
        if id in linked or _is_macro(packages[id]):
            continue
        linked.add(id)
        for dependency in nodes[id]["deps"]:
            # The other kinds are needed to build and to test.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])  # noqa: PERF401  # the comment needs its place
    crates = [packages[id] for id in linked if packages[id]["source"] is not None]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def _is_macro(package: dict[str, Any]) -> bool:
    """Return whether a crate is a procedural macro, which the compiler runs."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def license_files(crate: dict[str, Any]) -> list[Path]:
    """Return the license files of a crate and of the C library in it.

    Raises:
        FileNotFoundError: it has none.
    """
    folder = Path(crate["manifest_path"]).parent
    folders = [folder, *([folder / LIBRARIES[crate["name"]]] if crate["name"] in LIBRARIES else [])]
    files = [file for folder in folders for file in sorted(folder.iterdir()) if _is_license(file)]
    if not files:
        raise FileNotFoundError(f"{crate['name']} {crate['version']} has no license file")
    return files


def _is_license(file: Path) -> bool:
    return file.is_file() and file.name.lower().startswith(NAMES) and file.suffix not in {".rs", ".py"}


def text() -> str:
    """Return the content of the file. Equal texts are written once."""
    sections = []
    parts_by_text: dict[str, list[str]] = {}
    for crate in linked_crates(*PLATFORMS):
        sections.append(f"{crate['name']} {crate['version']}: {crate['license']}")
        for file in license_files(crate):
            content = "\n".join(line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()).strip()
            parts_by_text.setdefault(content, []).append(f"{crate['name']} {crate['version']}, {file.name}")
    line = "=" * 100
    texts = [f"{line}\n" + "\n".join(parts) + f"\n{line}\n\n{content}\n" for content, parts in parts_by_text.items()]
    return "\n".join([HEAD, *sections, "", *texts])


def main() -> None:
    """Write the file."""
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"wrote {WRITTEN.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
