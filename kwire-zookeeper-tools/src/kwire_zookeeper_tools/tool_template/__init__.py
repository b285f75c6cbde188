"""The package that `kafka tools new` writes: a tool, its test, and the entry point by which kwire finds it."""

from __future__ import annotations

from errno import EEXIST
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "README.md.template": "README.md",
    "pyproject.toml.template": "pyproject.toml",
    "test_tool.py.template": "test_$module.py",
    "tool.py.template": "$module.py",
}
"""Templates of this folder, and the files that are made of them."""


def write_package(name: str, folder: Path) -> list[Path]:
    """Write the package of a tool, and return its files.

    Args:
        name: the name of the tool, such as `count-topics`.
        folder: the folder, which must not exist or must be empty.

    Raises:
        FileExistsError: the folder contains something.
        OSError: the folder cannot be written.
    """
    words = {"name": name, "module": name.replace("-", "_")}
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(EEXIST, "the folder contains something", str(folder))
    written = []
    for template, target in FILES.items():
        text = files(__package__).joinpath(template).read_text(encoding="utf-8")
        path = folder / Template(target).substitute(words)
        path.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(path)
    return written
