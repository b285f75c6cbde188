"""Public names of a package that are imported on first use.

The stub of the package (`__init__.pyi`) is the list of them, for type checkers and at run time: one line
`from MODULE import NAME as NAME` for each name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["late_names", "module_of_names"]


def late_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Args:
        package: the name of the package, which has a stub.
    """
    modules: dict[str, str] = {}

    def get(name: str) -> Any:
        """Import a public name on first use.

        Raises:
            AttributeError: the stub does not have the name.
        """
        from importlib import import_module

        if not modules:
            modules.update(module_of_names(package))
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        value = import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)
        vars(sys.modules[package])[name] = value
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of_names(package)})

    return get, list_names


def module_of_names(package: str) -> dict[str, str]:
    """Return the module of each name in the stub of a package. A module that is itself a name has its package.

    Raises:
        OSError: the stub cannot be read.
    """
    import re
    from pkgutil import get_data

    stub = get_data(package, "__init__.pyi") or b""
    wrapped_or_not = r"^from (\S+) import (?:\(\s+)?(\w+) as \2\b"
    return {name: module for module, name in re.findall(wrapped_or_not, stub.decode(), flags=re.MULTILINE)}
