"""Public names of a package that are imported on first use.

A package has a table of its names by module. `python -m scripts.stubs` writes it as the stub of the package, for
type checkers.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

__all__ = ["LateFunction", "LateModule", "imported", "late_names"]


def imported(module: str) -> ModuleType:
    """Import a module and return it, without `importlib`: it takes longer to import than most modules."""
    __import__(module)
    return sys.modules[module]


def late_names(
    package: str, names_by_module: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__`, and `__dir__` of a package.

    Args:
        package: the name of the package.
        names_by_module: its public names by the module that defines them; its modules by the package itself.
    """
    modules = {name: module for module, names in names_by_module.items() for name in names}

    def get(name: str) -> Any:
        """Import a public name on first use.

        Raises:
            AttributeError: the package does not have the name.
        """
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        value = imported(f"{package}.{name}") if module == package else getattr(imported(module), name)
        vars(sys.modules[package])[name] = value
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return sorted(modules), get, list_names


class LateFunction:
    """A function of a module as a method of a class. The module is imported when the method is used.

    Args:
        module: the name of the module.
        name: the name of the function and of the method.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        function = getattr(imported(self._module), self._name)
        if self._owner is not None:
            setattr(self._owner, self._name, function)  # the next use finds the function itself
        return function.__get__(instance, owner)


class LateModule:
    """A module whose functions become methods of a class without an import."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LateFunction:
        return LateFunction(self._module, name)
