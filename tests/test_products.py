"""Borders of the products: no import against their arrows, one version, and entry points that name what exists."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import kwire
from kwire._util import products as joined
from scripts.products import PRODUCTS, ROOT, modules, product_of, wrong_pairs, wrong_test_imports


def test_no_import_runs_against_the_arrows() -> None:
    assert wrong_pairs() == {}


def test_tests_lie_with_the_product_that_they_import() -> None:
    assert wrong_test_imports() == {}


def test_arrows() -> None:
    assert {name: set(product.imports) for name, product in PRODUCTS.items()} == {
        "kwire": set(),
        "kwire-admin": {"kwire"},
        "kwire-cluster": {"kwire"},
        "kwire-pipeline": {"kwire"},
        "kwire-zookeeper-tools": {"kwire", "kwire-admin", "kwire-cluster"},
    }


def test_modules_are_in_the_package_of_their_product() -> None:
    for module, file in modules().items():
        package = product_of(file).name.replace("-", "_")
        assert module.partition(".")[0] in (package, "pyspark_kwire"), module


def test_products_have_one_version_and_require_it() -> None:
    with (ROOT / "Cargo.toml").open("rb") as file:
        version = tomllib.load(file)["workspace"]["package"]["version"]

    assert kwire.__version__ == version
    for name, product in PRODUCTS.items():
        optional = product.project.get("optional-dependencies", {})
        required = [*product.project["dependencies"], *(text for texts in optional.values() for text in texts)]
        others = [text for text in required if text.startswith("kwire") and text.partition("[")[0] != name]
        assert all(text.endswith(f"=={version}") for text in others), (name, others)
        if name != "kwire":
            assert import_module(name.replace("-", "_")).__version__ == version


def test_entry_points_name_what_exists() -> None:
    parts = {}
    for name, product in PRODUCTS.items():
        for group, points in product.project.get("entry-points", {}).items():
            for point, value in points.items():
                EntryPoint(point, value, group).load()
                if group == "kwire.parts":
                    parts[point] = name

    assert parts == joined.PARTS


def test_every_product_has_an_extra_and_the_hints_name_its_commands() -> None:
    extras = PRODUCTS["kwire"].project["optional-dependencies"]

    assert joined.PRODUCTS.keys() == PRODUCTS.keys() - {"kwire"}
    for name, (extra, commands) in joined.PRODUCTS.items():
        assert any(requirement.startswith(name) for requirement in extras[extra])
        package = PRODUCTS[name].source / name.replace("-", "_")
        files = {*package.glob("commands/*.py"), *package.glob("verbs/*/__init__.py")}
        names = {file.parent.name if file.stem == "__init__" else file.stem for file in files} - {"commands"}
        assert set(commands) == names, name


def made(product: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--dry-run", "test", f"PRODUCT={product}"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_make_runs_the_tests_of_a_product() -> None:
    done = made("kwire-pipeline")

    assert done.returncode == 0, done.stderr
    assert " kwire-pipeline/tests" in done.stdout
    assert "cargo test" not in done.stdout
    assert "cargo test" in made("kwire").stdout


def test_changes_of_a_product_reach_the_products_that_import_it(tmp_path: Path) -> None:
    assert changed_by("kwire-pipeline/src/kwire_pipeline/gold/build.py", tmp_path) == ["kwire-pipeline"]
    assert changed_by("kwire-cluster/src/kwire_cluster/controller/x.py", tmp_path) == [
        "kwire-cluster",
        "kwire-zookeeper-tools",
    ]
    assert changed_by("python/kwire/frame.py", tmp_path) == [*PRODUCTS]
    assert changed_by("docs/pipeline.md", tmp_path) == []


def changed_by(file: str, folder: Path) -> list[str]:
    """Return the changed products in a repository in which one file was added."""
    repository = Path(tempfile.mkdtemp(dir=folder))
    for source in ("scripts", "pyproject.toml", *(f"{name}/pyproject.toml" for name in PRODUCTS if name != "kwire")):
        target = repository / source
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
        copy(ROOT / source, target)
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(repository))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], check=True)
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    (repository / file).write_text("x")
    subprocess.run([*git, "add", "."], check=True)
    listing = [sys.executable, "-m", "scripts.products", "changed", "HEAD"]
    return subprocess.run(listing, cwd=repository, check=True, capture_output=True, text=True).stdout.split()


def test_make_refuses_an_unknown_product() -> None:
    done = made("nosuch")

    assert done.returncode != 0
    assert "there is no product nosuch: kwire, kwire-admin, " in done.stderr
