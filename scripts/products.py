"""The five products of the repository: the modules of each, the products that it imports, and its tests.

python -m scripts.products wrong                  imported names that cross a border against the arrows
python -m scripts.products tests kwire-pipeline   the test files of a product, as `make test PRODUCT=` runs them
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / "python"


@dataclass(frozen=True, slots=True)
class Product:
    """A part of the repository that one person can hold.

    Attributes:
        imports: the products that it may import.
        modules: prefixes of its files below `python`.
    """

    imports: frozenset[str]
    modules: tuple[str, ...]


def _paths(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names.split())


PRODUCTS: dict[str, Product] = {
    "kwire-pipeline": Product(
        frozenset({"kwire"}),
        (
            "pyspark_kwire/",
            *_paths("kwire", "spark/ report/"),
            *_paths("kwire/cli", "pipeline_ query_output commands/pipeline commands/report"),
        ),
    ),
    "kwire-zookeeper-tools": Product(
        frozenset({"kwire", "kwire-admin", "kwire-cluster"}),
        (
            *_paths(
                "kwire/operations", "tools/ node_tools/ offsets/ records/ tool_template/ on_node process topic_command"
            ),
            *_paths(
                "kwire/operations",
                "tool_run children json_files znode_kinds progress jolokia verbs/tools/ verbs/zookeeper/",
            ),
            *_paths("kwire/compat", "with_zookeeper/"),
            *_paths("kwire/cli", "commands/tools shell/offset_sources"),
        ),
    ),
    "kwire-cluster": Product(
        frozenset({"kwire"}),
        (
            *_paths("kwire", "cluster/ cli/commands/node cli/commands/cluster"),
            *_paths("kwire/testing", "local_cluster node_folder cluster_file memory_store data_tree kafka/"),
        ),
    ),
    "kwire-admin": Product(
        frozenset({"kwire"}), _paths("kwire", "operations/ reassignment/ cli/ http/ exporter/ compat/ __main__")
    ),
    "kwire": Product(frozenset(), ("kwire/",)),
}
"""Products by name. A file belongs to the first product with a prefix of its path."""

ONLY_TESTS = {
    "kwire-admin/tests/kafka/": "kwire-admin",
    "tests/release/": "kwire",
    "tests/lint/": "kwire",
}
"""Folders of tests that mirror no package."""


def product_of(file: str) -> str:
    """Return the product of a file, such as `kwire/spark/gold/build.py`."""
    return next(name for name, product in PRODUCTS.items() if file.startswith(product.modules))


def product_of_test(file: str) -> str:
    """Return the product of a test, such as `kwire-pipeline/tests/pipeline/gold/test_build.py`: the product of its package."""
    for folder, product in ONLY_TESTS.items():
        if file.startswith(folder):
            return product
    return product_of("kwire/" + file.removeprefix("tests/").replace("/test_", "/"))


def files_of_tests(product: str) -> list[str]:
    """Return the test files of a product."""
    files = (file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests").rglob("test_*.py")))
    return [file for file in files if product_of_test(file) == product]


def wrong_pairs() -> dict[tuple[str, str], set[str]]:
    """Return the imported names against the arrows, by the importing and the imported file."""
    files = {_module(file): file.relative_to(PACKAGES).as_posix() for file in PACKAGES.rglob("*.py")}
    wrong: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, file in files.items():
        source = product_of(file)
        for target, name in _imported(PACKAGES / file, module, files):
            product = product_of(target)
            if product != source and product not in PRODUCTS[source].imports:
                wrong[file, target].add(name)
    return wrong


def _module(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGES).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, module: str, files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each import of kwire, also of lazy imports and imports for types."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str() as source, names=names, level=0):
                imported = [(f"{source}.{alias.name}", alias.name) for alias in names]
            case ast.Import(names=names):
                imported = [(alias.name, alias.name) for alias in names]
            case _:
                continue
        for dotted, name in imported:
            target = dotted
            while target and target not in files:
                target = target.rpartition(".")[0]
            if target and target != module:
                yield files[target], name


def main() -> None:
    """Print the wrong pairs, or the tests of a product."""
    match sys.argv[1:]:
        case ["wrong"]:
            for (source, target), names in sorted(wrong_pairs().items()):
                print(f"{source} -> {target}: {', '.join(sorted(names))}")
        case ["tests", product] if product in PRODUCTS:
            print(*files_of_tests(product))
        case ["tests", product]:
            sys.exit(f"there is no product {product}: {', '.join(PRODUCTS)}")
        case _:
            sys.exit("usage: python -m scripts.products wrong | tests PRODUCT")


if __name__ == "__main__":
    main()
