"""Borders of the products: no new import against their arrows."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scripts.products import PACKAGES, PRODUCTS, files_of_tests, product_of, product_of_test, wrong_pairs

ROOT = Path(__file__).parent.parent
KNOWN = {
    "kwire/cli/commands/cluster.py -> kwire/cli/options.py",
    "kwire/cli/commands/node.py -> kwire/cli/options.py",
    "kwire/cli/commands/node.py -> kwire/operations/on_node.py",
    "kwire/cli/commands/pipeline.py -> kwire/cli/colors.py",
    "kwire/cli/commands/pipeline.py -> kwire/cli/options.py",
    "kwire/cli/commands/pipeline.py -> kwire/cli/parameter_types.py",
    "kwire/cli/commands/pipeline.py -> kwire/cli/polled_input_options.py",
    "kwire/cli/commands/report.py -> kwire/cli/colors.py",
    "kwire/cli/commands/report.py -> kwire/cli/options.py",
    "kwire/cli/pipeline_inputs.py -> kwire/operations/cluster_document/document.py",
    "kwire/cli/pipeline_inputs.py -> kwire/operations/parameters.py",
    "kwire/cli/query_output.py -> kwire/cli/colors.py",
    "kwire/cli/query_output.py -> kwire/cli/tables.py",
    "kwire/cli/shell/lag_monitor.py -> kwire/cli/shell/offset_sources.py",
    "kwire/cli/shell/lag_monitor.py -> kwire/cluster/zookeeper/__init__.py",
    "kwire/cli/shell/lag_monitor.py -> kwire/cluster/zookeeper/errors.py",
    "kwire/cli/shell/lag_monitor.py -> kwire/cluster/zookeeper/store.py",
    "kwire/cli/shell/lag_monitor.py -> kwire/operations/verbs/zookeeper/show.py",
    "kwire/http/incidents.py -> kwire/report/history_reader.py",
    "kwire/http/incidents.py -> kwire/report/phrasing.py",
    "kwire/operations/declaration.py -> kwire/cluster/node/tools.py",
}
"""Imports against the arrows that are still there. This set only shrinks."""


def test_no_new_import_runs_against_the_arrows() -> None:
    pairs = {f"{source} -> {target}" for source, target in wrong_pairs()}

    assert pairs - KNOWN == set()
    assert KNOWN - pairs == set(), "these are gone: remove them from KNOWN"


def test_arrows_have_no_circle() -> None:
    def reached(product: str) -> set[str]:
        return {product}.union(*map(reached, PRODUCTS[product].imports))

    assert all(product not in set().union(*map(reached, PRODUCTS[product].imports)) for product in PRODUCTS)


def test_every_prefix_of_a_product_has_files() -> None:
    files = {file.relative_to(PACKAGES).as_posix() for file in PACKAGES.rglob("*.py")}

    for name, product in PRODUCTS.items():
        for prefix in product.modules:
            assert any(file.startswith(prefix) for file in files), (name, prefix)
        assert any(product_of(file) == name for file in files)


def test_every_test_is_of_one_product() -> None:
    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py")}

    assert sorted(file for product in PRODUCTS for file in files_of_tests(product)) == sorted(files)
    assert product_of_test("kwire-pipeline/tests/pipeline/gold/test_builds.py") == "kwire-pipeline"
    assert product_of_test("kwire-cluster/tests/cluster/test_kills.py") == "kwire-cluster"
    assert product_of_test("kwire-zookeeper-tools/tests/zookeeper_tools/tools/test_topic_tools.py") == "kwire-zookeeper-tools"
    assert product_of_test("kwire-admin/tests/exporter/test_prometheus.py") == "kwire-admin"
    assert product_of_test("tests/test_codec.py") == "kwire"


def made(product: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--dry-run", "test", f"PRODUCT={product}"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


def test_make_runs_the_tests_of_a_product() -> None:
    done = made("kwire-pipeline")

    assert done.returncode == 0, done.stderr
    assert " kwire-pipeline/tests/pipeline/store/" in done.stdout
    assert "tests/client" not in done.stdout
    assert "cargo test" not in done.stdout
    assert "cargo test" in made("kwire").stdout


def test_make_refuses_an_unknown_product() -> None:
    done = made("nosuch")

    assert done.returncode != 0
    assert "there is no product nosuch: kwire-pipeline, " in done.stderr
