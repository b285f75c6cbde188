"""The pages that the site generates from records, releases, and workflows."""

from __future__ import annotations

import re

from kwire.releases import releases
from scripts.docs_compatibility import compatibility_page, kafka_versions, python_versions, spark_versions
from scripts.docs_performance import performance_page
from scripts.docs_reference import admin_nouns
from tests.docs.pages import ROOT


def test_compatible_versions_are_those_of_wheels_and_releases() -> None:
    wheels = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    assert f"python: [{', '.join(map(repr, python_versions()))}]".replace("'", '"') in wheels
    names = {release.name for listener in ("zk_broker", "broker") for release in releases(listener)}
    tested = {version.rpartition(".")[0] for version in kafka_versions()}
    assert len(tested) == 2
    assert tested <= names
    page = "\n".join(compatibility_page())
    assert f"| Spark | {spark_versions()[0]} to " in page
    assert "| 3 | Metadata | 0.8.0 and newer | 0-13 | 0-13 |" in page
    assert "| 4 | LeaderAndIsr | 0.8.0 to 3.9 |" in page


def test_charts_have_a_bar_for_each_figure() -> None:
    page = "\n".join(performance_page())
    assert page.count("<rect ") > 15
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', page)]
    assert min(widths) > 0
    for name in ("kwire", "msgspec", "kio", "kafka-python"):
        assert page.count(f">{name} (Python)<") == 2, name


def test_every_noun_of_the_admin_client_has_operations_and_an_example() -> None:
    nouns = admin_nouns()
    assert {"topics", "configs", "groups", "acls", "quotas", "transactions"} <= nouns.keys()
    for module, operations in nouns.values():
        assert operations
        assert "\nExamples:\n    >>> " in (module.__doc__ or "")
