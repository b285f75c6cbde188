"""Each product from its wheel alone, with the dependencies that it declares, in an empty environment."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from scripts.products import PRODUCTS, ROOT, modules, product_of
from tests.installing import empty_environment, install, run
from tests.release.test_wheel import USE, only

if TYPE_CHECKING:
    from scripts.products import Product

pytestmark = [pytest.mark.timeout(600)]

IMPORT_ALL = """
import importlib, sys
for module in sys.argv[1:]:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(error.name.partition(".")[0])
    except ImportError as error:  # in other words
        print(error.__cause__.name)
"""
"""Imports modules, and prints the libraries that are missing."""

MODULES_OF = {
    "ortools": "ortools",
    "pyyaml": "yaml",
    "prompt-toolkit": "prompt_toolkit",
    "confluent-kafka": "confluent_kafka",
}
"""Modules of distributions whose name is another one."""


def wheel_of(dist: Path, product: Product) -> Path:
    return only(dist, "kwire-*-cp*.whl" if product.name == "kwire" else f"{product.name.replace('-', '_')}-*.whl")


def optional_modules(product: Product) -> set[str]:
    """Return the modules of the libraries that only extras of a product and of those below it bring."""
    found = set()
    for name in (product.name, *product.imports):
        for requirements in PRODUCTS[name].project.get("optional-dependencies", {}).values():
            for requirement in requirements:
                distribution = re.match(r"[\w.-]+", requirement)
                assert distribution is not None
                found.add(MODULES_OF.get(distribution[0], distribution[0].replace("-", "_").partition(".")[0]))
    return found | {"gssapi", "py4j", "hypothesis"}


@pytest.fixture
def installed(request: pytest.FixtureRequest, dist: Path, tmp_path: Path) -> tuple[Product, Path]:
    """A product and the interpreter of an environment with it."""
    product = PRODUCTS[request.param]
    python = empty_environment(sys.executable, tmp_path / "environment")
    install(python, "--find-links", dist, wheel_of(dist, product))
    return product, python


@pytest.mark.change
@pytest.mark.parametrize("name", PRODUCTS)
def test_wheel_has_the_files_of_its_product(name: str, dist: Path) -> None:
    product = PRODUCTS[name]
    with zipfile.ZipFile(wheel_of(dist, product)) as wheel:
        packed = {file for file in wheel.namelist() if ".dist-info/" not in file and not file.endswith((".so", ".pyd"))}

    listed = run("git", "ls-files", "--", str(product.source.relative_to(ROOT))).splitlines()
    own = {Path(file).relative_to(product.source.relative_to(ROOT)).as_posix() for file in listed}
    assert packed == own


@pytest.mark.change
@pytest.mark.parametrize("installed", PRODUCTS, indirect=True)
def test_product_works_alone(installed: tuple[Product, Path], tmp_path: Path) -> None:
    product, python = installed
    own = [name for name, file in modules().items() if product_of(file) == product]

    missing = set(run(python, "-I", "-W", "ignore", "-c", IMPORT_ALL, *own).split())
    assert missing <= optional_modules(product)
    assert run(sys.executable, "-m", "pip", "--python", python, "check").strip() == "No broken requirements found."
    SMOKE[product.name](python.parent, tmp_path)


def _library(programs: Path, folder: Path) -> None:
    assert run(programs / "python", "-I", "-W", "error", "-c", USE, str(ROOT)).strip() == "True"


def _admin(programs: Path, folder: Path) -> None:
    with FakeCluster(3, topics=["orders"]) as cluster:
        assert "orders" in run(programs / "kafka", "-b", cluster.bootstrap, "topics", "list", HOME=str(folder))
    asked = subprocess.run([programs / "kafka", "pipeline"], capture_output=True, text=True, check=False)
    assert "it is a command of kwire-pipeline: pip install 'kwire[spark]'" in asked.stderr


def _cluster(programs: Path, folder: Path) -> None:
    words = ["node", "--id", "1", "--zookeeper", "127.0.0.1:1", "--set", "zookeeper.connection.timeout.ms=200"]
    started = subprocess.run([programs / "kwire", *words], capture_output=True, text=True, check=False)
    assert started.returncode == 1
    assert "127.0.0.1:1" in started.stderr


def _zookeeper_tools(programs: Path, folder: Path) -> None:
    assert "dump-log-segments" in run(programs / "kafka", "tools", "list", HOME=str(folder))


def _pipeline(programs: Path, folder: Path) -> None:
    assert "ingest" in run(programs / "kwire", "pipeline", "--help")
    asked = subprocess.run([programs / "kwire", "topics", "list"], capture_output=True, text=True, check=False)
    assert "kwire-admin: pip install 'kwire[cli]'" in asked.stderr


SMOKE = {
    "kwire": _library,
    "kwire-admin": _admin,
    "kwire-cluster": _cluster,
    "kwire-zookeeper-tools": _zookeeper_tools,
    "kwire-pipeline": _pipeline,
}
"""The main job of each product, as far as it needs neither Java nor an extra."""
