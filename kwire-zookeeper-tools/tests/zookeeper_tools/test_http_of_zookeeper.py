"""The HTTP interface of the tools of ZooKeeper answers generated requests as its OpenAPI document says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.http.server_process import ServerProcess
from tests.http.test_schemathesis import run_schemathesis

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.programs
@pytest.mark.timeout(600)
def test_tools_of_zookeeper_behave_as_their_document_says(java: None, tmp_path: Path) -> None:
    del java
    with (
        EmbeddedZooKeeper() as zookeeper,
        FakeCluster() as cluster,
        ServerProcess(cluster.bootstrap, "--timeout", "2", "--anonymous", "change") as server,
    ):
        selected = ("--include-path-regex", "^/api/v1/zookeeper/")
        run_schemathesis(server, tmp_path, *selected, ZOOKEEPER=zookeeper.hosts)
