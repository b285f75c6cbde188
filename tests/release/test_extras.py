"""Each extra alone starts what the page of the installation promises for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import urllib.request
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.http.server_process import ServerProcess
from tests.installing import ROOT, empty_environment, install, run
from tests.release.test_wheel import COMPILED, PURE, only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMPORTS = {
    "capture": "import kwire.capture, pyarrow",
    "security": "import kwire.client.security.stores, cryptography",
    "records": "import kwire.records.reference.compression",
    "msk": "import kwire.client.security, botocore",
    "kafka": "import confluent_kafka, kwire_pipeline.sinks.kafka_topic",
}
"""Extras for programs, with what they import."""

COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "terminal": [("kwire", "messages"), ("kwire", "sniff", "--help"), ("kwire", "--help")],
    "cli": [
        ("kafka", "topics", "list"),
        ("kafka", "cluster", "health"),
        ("kafka", "reassign-partitions", "--help"),
        ("kafka", "reassign-partitions", "plan", "--help"),
        ("kafka", "compat", "install", "--help"),
        ("kwire", "messages"),
    ],
    "node": [("kwire", "node", "--help"), ("kwire", "cluster", "--help")],
    "zookeeper": [("kafka", "tools", "list"), ("kafka", "zookeeper", "--help"), ("kwire", "node", "--help")],
    "reassign": [("kafka", "reassign-partitions", "plan", "--drain", "3", "--replication-factor", "2")],
    "report": [("kwire", "report", "--help")],
}
"""Extras of commands, with commands that the pages show."""

SERVERS = {"http": ("http", "/openapi.json"), "exporter": ("exporter", "/metrics")}
"""Extras of servers, with their command and a path."""

ELSEWHERE = {"spark", "kerberos", "all"}
"""`spark` and `all` are installed for the tests; `kerberos` needs libraries of the system."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["orders"], partitions=2) as cluster:
        yield cluster


def installed(dist: Path, folder: Path, extras: str, wheel: str = COMPILED) -> Path:
    """Install a wheel of kwire with extras into an empty environment; return its folder of programs."""
    python = empty_environment(sys.executable, folder / "environment")
    install(python, "--find-links", dist, f"{only(dist, wheel)}[{extras}]")
    return python.parent


def test_every_extra_is_tested() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])

    tested = {extra for extras in (*IMPORTS, *COMMANDS, *SERVERS, *ELSEWHERE) for extra in extras.split(",")}
    assert tested == extras


@pytest.mark.timeout(600)
@pytest.mark.parametrize("extra", IMPORTS)
def test_extra_of_a_program_is_complete(extra: str, dist: Path, tmp_path: Path) -> None:
    programs = installed(dist, tmp_path, extra)

    run(programs / "python", "-I", "-c", IMPORTS[extra])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("extras", COMMANDS)
def test_commands_of_an_extra_run(extras: str, dist: Path, tmp_path: Path, cluster: FakeCluster) -> None:
    programs = installed(dist, tmp_path, extras)

    for program, *arguments in COMMANDS[extras]:
        run(programs / program, *arguments, KWIRE_BOOTSTRAP=cluster.bootstrap, HOME=str(tmp_path))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("extra", SERVERS)
def test_server_of_an_extra_answers(extra: str, dist: Path, tmp_path: Path, cluster: FakeCluster) -> None:
    command, path = SERVERS[extra]
    program = str(installed(dist, tmp_path, extra) / "kafka")

    with (
        ServerProcess(cluster.bootstrap, command=command, program=[program]) as server,
        urllib.request.urlopen(server.url.rstrip("/") + path, timeout=60) as response,
    ):
        assert response.status == 200
        assert response.read()


@pytest.mark.timeout(600)
def test_commands_without_the_engine_name_it(dist: Path, tmp_path: Path, cluster: FakeCluster) -> None:
    """Commands on the codec alone work; nodes and tools, which need its expressions of linear time, say so."""
    programs = installed(dist, tmp_path, "zookeeper", PURE)
    environment = {"KWIRE_BOOTSTRAP": cluster.bootstrap, "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}

    assert "orders" in run(programs / "kafka", "topics", "list", **environment)
    for command in (("kafka", "tools", "list"), ("kwire", "node", "--id", "1", "--zookeeper", "127.0.0.1:1")):
        words = [str(programs / command[0]), *command[1:]]
        done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False)
        assert "this needs the engine of kwire" in done.stderr
        assert "bug of kwire" not in done.stderr
