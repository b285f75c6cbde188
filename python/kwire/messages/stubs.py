"""Stubs of the message packages, for type checkers and completion.

The packages find messages by name at run time, which type checkers cannot follow. Each stub re-exports the messages of
one package. `python -m kwire.messages.stubs` writes them and prints the files that changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kwire import messages
from kwire.messages import FAMILIES, module_name, names

LINE_LENGTH = 120


def stub_path(family: str) -> Path:
    """Return the path of the stub of a package."""
    return Path(messages.__path__[0]) / family / "__init__.pyi"


def stub(family: str) -> str:
    """Return the text of the stub of a package."""
    package = f"{messages.__name__}.{family}"
    messages_by_module = sorted((module_name(name), name) for name in names(package))
    imports = [_import_line(f"{package}.{module}", name) for module, name in messages_by_module]
    return "\n".join([f"# Written by `python -m {__spec__.name}`.", "", *imports, ""])


def _import_line(module: str, name: str) -> str:
    """Return a re-export, wrapped as ruff formats it."""
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= LINE_LENGTH else f"from {module} import (\n    {name} as {name},\n)"


def main() -> None:
    """Write all stubs."""
    for family in FAMILIES:
        path, text = stub_path(family), stub(family)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    main()
