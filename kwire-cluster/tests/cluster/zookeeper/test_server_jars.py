"""ZooKeeper's jars come from PySpark, or from a Maven repository."""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.zookeeper.embedded_server import CannotStart, EmbeddedZooKeeper
from kwire_cluster.zookeeper.server_jars import JARS, server_classpath

if TYPE_CHECKING:
    from collections.abc import Iterator

PYSPARK = find_spec("pyspark")
assert PYSPARK is not None
assert PYSPARK.origin is not None
PYSPARK_JARS = Path(PYSPARK.origin).parent / "jars"


class Repository(BaseHTTPRequestHandler):
    """A Maven repository with the jars of PySpark; below /damaged, they end too early."""

    requested: list[str]

    def do_GET(self) -> None:
        self.requested.append(self.path)
        content = (PYSPARK_JARS / self.path.rpartition("/")[2]).read_bytes()
        content = content[:-1] if self.path.startswith("/damaged/") else content
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the jars to a user without PySpark and without a cache."""
    Repository.requested = []
    monkeypatch.setattr("kwire_cluster.zookeeper.server_jars.find_spec", lambda _: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Repository) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("java")
def test_server_starts_with_downloaded_jars(repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_MAVEN_REPOSITORY", repository)
    with EmbeddedZooKeeper(tmp_path / "data"):
        pass
    assert len(Repository.requested) == len(JARS)
    paths = server_classpath().split(os.pathsep)
    assert len(Repository.requested) == len(JARS), "the second time, nothing is downloaded"
    assert all(Path(path).is_relative_to(tmp_path / "cache" / "kwire") for path in paths)


def test_damaged_jar_is_refused(repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_MAVEN_REPOSITORY", f"{repository}/damaged")
    with pytest.raises(CannotStart, match=r"has the SHA-256 [0-9a-f]{64}, expected .*: check the repository"):
        EmbeddedZooKeeper(tmp_path / "data").start()
    assert list((tmp_path / "cache").rglob("*.jar")) == []


def test_missing_repository_says_what_to_do(repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del repository  # for a user without PySpark
    monkeypatch.setenv("KWIRE_MAVEN_REPOSITORY", "http://127.0.0.1:9")
    with pytest.raises(CannotStart, match=r"cannot download ZooKeeper's .*Set HTTPS_PROXY, or KWIRE_MAVEN_REPOSITORY"):
        EmbeddedZooKeeper(tmp_path / "data").start()


def test_jars_of_pyspark_need_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_MAVEN_REPOSITORY", "http://127.0.0.1:9")
    assert all(Path(path).parent == PYSPARK_JARS for path in server_classpath().split(os.pathsep))


@pytest.mark.usefixtures("repository")
def test_jars_need_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KWIRE_MAVEN_REPOSITORY", raising=False)
    with pytest.raises(CannotStart, match="set KWIRE_MAVEN_REPOSITORY to the address of a Maven repository"):
        EmbeddedZooKeeper(tmp_path / "data").start()
