"""The five products of the repository: the folder of each, the products that it imports, and its tests.

python -m scripts.products wrong                  imported names that cross a border against the arrows
python -m scripts.products tests kwire-pipeline   the folders of tests of products, as `make test PRODUCT=` runs them
python -m scripts.products changed origin/main    the products whose tests the changes since a commit can break
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Product:
    """A distribution, which one person can hold.

    Attributes:
        name: its name.
        folder: its folder in the repository.
        source: the folder of its packages.
    """

    name: str
    folder: Path
    source: Path

    @cached_property
    def project(self) -> Mapping[str, Any]:
        """The table `project` of its pyproject.toml."""
        with (self.folder / "pyproject.toml").open("rb") as file:
            table: Mapping[str, Any] = tomllib.load(file)["project"]
        return table

    @cached_property
    def imports(self) -> frozenset[str]:
        """The products that it may import: required ones, and what these require."""
        required = {requirement.partition("=")[0].partition("[")[0] for requirement in self.project["dependencies"]}
        direct = required & PRODUCTS.keys() - {self.name}
        return frozenset(direct.union(*(PRODUCTS[name].imports for name in direct)))

    @property
    def tests(self) -> Path:
        """The folder of its tests."""
        return self.folder / "tests"


PRODUCTS = {
    "kwire": Product("kwire", ROOT, ROOT / "python"),
    **{folder.name: Product(folder.name, folder, folder / "src") for folder in sorted(ROOT.glob("kwire-*/"))},
}
"""Products by name."""


def product_of(file: Path) -> Product:
    """Return the product of a file below ROOT."""
    return PRODUCTS.get(file.relative_to(ROOT).parts[0], PRODUCTS["kwire"])


def modules() -> dict[str, Path]:
    """Return the files of all products by the name of the module."""
    return {
        ".".join(file.relative_to(product.source).with_suffix("").parts).removesuffix(".__init__"): file
        for product in PRODUCTS.values()
        for file in product.source.rglob("*.py")
    }


def wrong_pairs() -> dict[tuple[str, str], set[str]]:
    """Return the imported names against the arrows, by the importing and the imported file."""
    files = modules()
    wrong: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, file in files.items():
        source = product_of(file)
        for target, name in _imported(file, module, files):
            product = product_of(target)
            if product != source and product.name not in source.imports:
                wrong[str(file.relative_to(ROOT)), str(target.relative_to(ROOT))].add(name)
    return wrong


REPOSITORY_TESTS = ("docs/", "lint/", "release/", "test_", "cli/fork_server.py")
"""Tests of the root that are of the whole repository, and the process that imports all commands once for all tests."""


def wrong_test_imports() -> dict[str, set[str]]:
    """Return the products that tests import against the arrows, by the file of the test."""
    files = modules()
    wrong: dict[str, set[str]] = defaultdict(set)
    for product in PRODUCTS.values():
        for file in product.tests.rglob("*.py"):
            if product.folder == ROOT and str(file.relative_to(product.tests)).startswith(REPOSITORY_TESTS):
                continue
            allowed = {product.name, *product.imports}
            imported = {product_of(target).name for target, _ in _imported(file, "", files)}
            if imported - allowed:
                wrong[str(file.relative_to(ROOT))] = imported - allowed
    return wrong


def _imported(file: Path, module: str, files: Mapping[str, Path]) -> Iterator[tuple[Path, str]]:
    """Yield the file and the name of each import of a product, also of lazy imports and imports for types."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
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


def changed(commit: str) -> list[str]:
    """Return the products with files that differ from a commit, and the products that import these.

    Pages are of no product. Every other file at the root is the library's, on which all build.
    """
    command = ["git", "diff", "--name-only", commit]
    files = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    touched = {product_of(ROOT / file).name for file in files if not file.startswith("docs/")}
    return [name for name, product in PRODUCTS.items() if name in touched or touched & product.imports]


def main() -> None:
    """Print the wrong pairs, the tests of products, or changed products."""
    match sys.argv[1:]:
        case ["wrong"]:
            for (source, target), names in sorted(wrong_pairs().items()):
                print(f"{source} -> {target}: {', '.join(sorted(names))}")
        case ["tests", *names] if names and PRODUCTS.keys() >= set(names):
            print(*(PRODUCTS[name].tests.relative_to(ROOT) for name in names))
        case ["tests", *names] if names:
            unknown = next(name for name in names if name not in PRODUCTS)
            sys.exit(f"there is no product {unknown}: {', '.join(PRODUCTS)}")
        case ["changed", commit]:
            print(*changed(commit))
        case _:
            sys.exit("usage: python -m scripts.products wrong | tests PRODUCT... | changed COMMIT")


if __name__ == "__main__":
    main()
