"""Stubs of packages that import names on first use, for type checkers and completion.

Packages of messages find them by name at run time, other packages have a table (`late_names`), and type checkers can
follow neither. Each stub re-exports the names of one package. The operations of the blocking admin client are made
at run time, so that its module has a stub as well. `python -m scripts.stubs` writes the stubs and prints the
files that changed.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from kwire.messages import FAMILIES, module_name, names

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "python", *sorted(ROOT.glob("kwire-*/src")))
LINE_LENGTH = 120
MESSAGE_PACKAGES = tuple(f"kwire.messages.{family}" for family in FAMILIES)
PACKAGES_WITH_TABLES = tuple(
    ".".join(file.parent.relative_to(source).parts)
    for source in SOURCES
    for file in sorted(source.rglob("__init__.py"))
    if "_MODULES = {" in file.read_text(encoding="utf-8")
)
PACKAGES = (*MESSAGE_PACKAGES, *PACKAGES_WITH_TABLES)
BLOCKING_ADMIN_CLIENT = "kwire.client.admin.blocking_admin_client"


def stub_path(module: str) -> Path:
    """Return the path of the stub of a module or package."""
    source = import_module(module).__file__
    assert source is not None, "modules of the package have a file"
    return Path(source).with_suffix(".pyi")


def stub(module: str) -> str:
    """Return the text of the stub of a package, or of the blocking admin client."""
    if module == BLOCKING_ADMIN_CLIENT:
        return _blocking_stub()
    package = module
    imports = [_import_line(module, name) for module, name in _names_with_modules(package)]
    version = ["", "__version__: str"] if hasattr(import_module(package), "__version__") else []
    return "\n".join([f"# Written by `python -m {__spec__.name}`.", "", *imports, *version, ""])


def _names_with_modules(package: str) -> list[tuple[str, str]]:
    """Return the public names of a package, each after its module, sorted by both."""
    if package in MESSAGE_PACKAGES:
        return sorted((f"{package}.{module_name(name)}", name) for name in names(package))
    table: dict[str, tuple[str, ...]] = vars(import_module(package))["_MODULES"]
    pairs = [(module, name) for module, of_module in table.items() for name in of_module]
    # As ruff sorts imports: constants, classes, functions.
    return sorted(pairs, key=lambda pair: (pair[0], not pair[1].isupper(), not pair[1][0].isupper(), pair[1]))


def _import_line(module: str, name: str) -> str:
    """Return a re-export, wrapped as ruff formats it."""
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= LINE_LENGTH else f"from {module} import (\n    {name} as {name},\n)"


def _blocking_stub() -> str:
    """Return the stub of the blocking admin client, with a method for each operation of the asynchronous one."""
    operations = vars(import_module(BLOCKING_ADMIN_CLIENT))["OPERATIONS"]
    methods = [f"    {name} = blocking(AdminClient.{name})" for name in operations]
    lines = [
        f"# Written by `python -m {__spec__.name}`.",
        "",
        "from kwire.client.admin.admin_client import AdminClient",
        "from kwire.client.admin.blocking import BlockingSession",
        "from kwire.client.loop_thread import blocking",
        "",
        "OPERATIONS: tuple[str, ...]",
        "",
        "class BlockingAdminClient(BlockingSession):",
        *methods,
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write all stubs."""
    for module in (*PACKAGES, BLOCKING_ADMIN_CLIENT):
        path, text = stub_path(module), stub(module)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    main()
