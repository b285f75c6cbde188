"""The page of compatible versions on the documentation site, from the files that decide about them.

Versions of Python are in pyproject.toml, of Kafka in the table of releases and in the jars of the tests, of Spark in
the workflow that tests them, and of ZooKeeper in the list of jars of `kwire cluster up`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from kwire.declare import VersionRange
from kwire.messages import every
from kwire.releases import releases
from kwire_cluster.zookeeper.server_jars import JARS
from tests.real_kafka import jars as kafka_jars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page to the site."""
    files.append(File.generated(config, "compatibility.md", content="\n".join(compatibility_page())))
    return files


def compatibility_page() -> Iterator[str]:
    """Return the lines of the page."""
    yield "# Compatible versions\n"
    yield "[Install kwire](install.md) has the platforms of the wheels.\n"
    yield "| | versions | tested |\n|---|---|---|"
    pythons = python_versions()
    yield f"| Python | CPython {pythons[0]} to {pythons[-1]}, PyPy 3.11 without the engine | the codec on each |"
    brokers = list(dict.fromkeys(release.name for kind in ("zk_broker", "broker") for release in releases(kind)))
    tested = ", ".join(kafka_versions())
    yield f"| Kafka: messages | the messages of {brokers[0]} to {brokers[-1]} | Kafka's Java classes of {tested} |"
    yield f"| Kafka: `kafka`, `AdminClient` | 0.11 to {brokers[-1]}, with ZooKeeper or KRaft | brokers of {tested} |"
    sparks = spark_versions()
    yield f"| Spark | {sparks[0]} to {sparks[-1]} with Java 17 or newer | {', '.join(sparks)} |"
    yield f"| ZooKeeper of `kwire cluster up` | {zookeeper_version()} | {zookeeper_version()} |\n"
    yield "## APIs by release of Kafka\n"
    yield "For each API, this table has the releases whose brokers serve it, its versions in Kafka's newest"
    yield "release, and its versions in kwire. If an operation needs an API that the cluster does not serve, the"
    yield "error names the API.\n"
    yield "| API key | API | brokers | versions in Kafka | versions in kwire |\n|---|---|---|---|---|"
    yield from _api_rows()


def python_versions() -> list[str]:
    """Return the supported versions of Python, oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [found for text in project["classifiers"] for found in re.findall(r":: (3\.\d+)$", text)]


def kafka_versions() -> list[str]:
    """Return the versions of Kafka that run in tests."""
    poms = sorted(Path(kafka_jars.__file__).parent.glob("kafka*.xml"))
    found = (re.search(r"<artifactId>kafka_\S+</artifactId>\s*<version>(.+?)<", pom.read_text()) for pom in poms)
    return [match[1] for match in found if match is not None]


def spark_versions() -> list[str]:
    """Return the versions of Spark that the workflow tests, oldest first."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    [matrix] = re.findall(r"^ +spark: \[(.*)\]", workflow, flags=re.MULTILINE)
    return re.findall(r'"(.+?)"', matrix)


def zookeeper_version() -> str:
    """Return the version of the ZooKeeper that kwire starts."""
    [version] = [jar.rpartition("/")[2] for jar in JARS if jar.startswith("org/apache/zookeeper/zookeeper/")]
    return version


def _api_rows() -> Iterator[str]:
    served: dict[int, list[tuple[str, tuple[int, int]]]] = {}
    for release in (*releases("zk_broker"), *releases("broker")):
        for key, versions in release.versions.items():
            served.setdefault(key, []).append((release.name, versions))
    requests = {
        cls.api_key: cls
        for cls in every()
        if cls.__module__.startswith("kwire.messages.kafka.") and cls.__name__.endswith("Request")
    }
    newest = releases("broker")[-1].name
    for key, cls in sorted(requests.items()):
        if key in served:
            first, last = served[key][0][0], served[key][-1]
            until = f"{first} and newer" if last[0] == newest else f"{first} to {last[0]}"
            name, in_kafka = cls.__name__.removesuffix("Request"), VersionRange("{}-{}".format(*last[1]))
            yield f"| {key} | {name} | {until} | {in_kafka} | {cls.versions} |"
