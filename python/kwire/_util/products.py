"""The other products of kwire: how they join by entry points, and what to install where one is missing.

| group | value of an entry point |
|---|---|
| `kwire.commands` | a package; each of its modules is a command, the click command of the module's name |
| `kwire.nouns` | a package; each package in it is a noun, and the modules in that are its verbs |
| `kwire.tool_packages` | a package; each of its modules is a tool, and each value of its `ROWS` |
| `kwire.tools` | a tool, by its name |
| `kwire.parts` | a part of PARTS, by its name |

Reading the entry points of all installed packages takes as long as a small command, so whoever knows a name itself does
not ask.
"""

from __future__ import annotations

from functools import cache

from kwire.errors import KwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

__all__ = [
    "PARTS",
    "PRODUCTS",
    "BrokenProduct",
    "MissingProduct",
    "check_version",
    "check_versions",
    "entry_points",
    "find_part",
    "install_hint",
    "load",
    "missing_admin_hint",
    "missing_hint",
    "part",
]

PRODUCTS = {
    "kwire-admin": ("cli", ()),
    "kwire-cluster": ("node", ("cluster", "node")),
    "kwire-zookeeper-tools": ("zookeeper", ("tools", "zookeeper")),
    "kwire-pipeline": ("spark", ("pipeline", "report")),
}
"""The other products: the extra of kwire that brings each, and its commands and nouns. kwire-admin has all others."""

PARTS = {
    "program": "kwire-admin",  # runs the words of a command line, with the commands of all products
    "desired-configs": "kwire-admin",  # reads the configs of a document that describes a cluster
    "incidents": "kwire-pipeline",  # reads past incidents for `kafka http`
    "node-tools": "kwire-zookeeper-tools",  # returns the tools that nodes run
    "scripts-with-zookeeper": "kwire-zookeeper-tools",  # the package of Kafka's scripts that look into ZooKeeper
    "tool-runner": "kwire-zookeeper-tools",  # runs a tool in place of a script of Kafka
    "zookeeper-offsets": "kwire-zookeeper-tools",  # reads offsets that consumers of Kafka 0.8 keep
}
"""Parts that one product calls in another without importing it, by the product that has them."""


ENGINE_MISSING = (
    "this needs the engine of kwire, its compiled part, which the wheel for this platform or Python version lacks: use "
    "one of the platforms and versions with a compiled wheel, or build kwire from source with Rust"
)


class MissingProduct(KwireError):
    """A product that something needs is not installed. The message has the line that installs it."""


class BrokenProduct(KwireError):
    """A part of an installed product cannot be used.

    The cause is the error of its import, if any; `--debug` prints its traceback.
    """


@cache
def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group in alphabetical order of their names."""
    from importlib.metadata import entry_points  # takes as long as a command needs to start

    return tuple(sorted(entry_points(group=group), key=lambda point: point.name))


def part(name: str, purpose: str) -> Any:
    """Return a part of PARTS.

    Args:
        name: the name of the part.
        purpose: the thing that needs it, as the beginning of a sentence, such as `--gold`.

    Raises:
        MissingProduct: its product is not installed.
        BrokenProduct: it cannot be imported, or its product has another version.
    """
    found = find_part(name)
    if found is None:
        raise MissingProduct(f"{purpose} needs {PARTS[name]}: {_install_line(PARTS[name])}")
    return found


def find_part(name: str) -> Any:
    """Return a part of PARTS; None if its product is not installed.

    Raises:
        BrokenProduct: it cannot be imported, or its product has another version.
    """
    found = [point for point in entry_points("kwire.parts") if point.name == name]
    return load(found[0]) if found else None


def load(point: EntryPoint) -> Any:
    """Import what an entry point stands for, after comparing the versions of its product and of this package.

    Raises:
        BrokenProduct: it cannot be imported, or its product has another version.
    """
    check_version(point)
    try:
        return point.load()
    except Exception as error:
        raise BrokenProduct(f"{point.value} cannot be used: {type(error).__name__}: {error}") from error


def check_version(point: EntryPoint) -> None:
    """Compare the versions of a product of kwire and of this package. Packages of other authors have their own ones.

    Raises:
        BrokenProduct: they differ.
    """
    if point.dist is not None and point.dist.name in PRODUCTS:
        check_versions(point.dist.name, point.dist.version)


def check_versions(product: str, version: str) -> None:
    """Compare the version of a product and of this package.

    Raises:
        BrokenProduct: they differ.
    """
    from kwire import __version__

    if version != __version__:
        fix = f"pip install '{product}=={__version__}' 'kwire=={__version__}'"
        raise BrokenProduct(f"{product} {version} does not fit kwire {__version__}: {fix}")


def missing_hint(command: str) -> str | None:
    """Return how to install the product with a command or a noun; None if it is installed, or no product has it."""
    for product, (_, commands) in PRODUCTS.items():
        if command in commands and not _is_installed(product):
            return f"it is a command of {product}: {_install_line(product)}"
    return None


def missing_admin_hint() -> str | None:
    """Return how to install the commands that administer clusters; None if they are installed."""
    if _is_installed("kwire-admin"):
        return None
    return f"the commands that administer clusters are in kwire-admin: {_install_line('kwire-admin')}"


def _is_installed(product: str) -> bool:
    from importlib.util import find_spec

    return find_spec(product.replace("-", "_")) is not None


def _install_line(product: str) -> str:
    extra, _ = PRODUCTS[product]
    return f"pip install 'kwire[{extra}]'"


def install_hint(error: ModuleNotFoundError) -> str | None:
    """Return how to install the library or the engine that is missing; None if no extra of kwire brings it.

    The text is such as "this needs numpy: pip install 'kwire[reassign]'".
    """
    if error.name == "kwire._kwire":
        return ENGINE_MISSING
    module = (error.name or "").partition(".")[0]
    if module == "kwire":
        return None
    extra = _extra_with({"yaml": "pyyaml"}.get(module, module.replace("_", "-")))
    return None if extra is None else f"this needs {module}: pip install 'kwire[{extra}]'"


def _extra_with(distribution: str) -> str | None:
    """Return the extra of kwire with a distribution; an extra of another product has the same name in kwire."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    for product, extra_of_all in {"kwire": None, **{name: extra for name, (extra, _) in PRODUCTS.items()}}.items():
        try:
            requirements = requires(product) or []
        except PackageNotFoundError:  # it is not installed, or a source tree
            continue
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)
            if name is not None and name[0].lower() == distribution:
                extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
                return extra_of_all if extra is None else extra[1]
    return None
