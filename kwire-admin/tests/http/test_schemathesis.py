"""Requests that Schemathesis generates from the OpenAPI document get responses that the document describes.

Schemathesis has its default configuration. The hooks list the parameters that JSON Schema cannot describe.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.http.server_process import ServerProcess
from tests.installing import ROOT, package_folder, run

if TYPE_CHECKING:
    from pathlib import Path

SCHEMATHESIS = "4.32.5"
HOOKS = "tests.http.schemathesis_hooks"


@pytest.mark.programs
@pytest.mark.timeout(1800)  # 6,000 requests: 5 minutes on two busy cores
def test_server_behaves_as_its_document_says(tmp_path: Path) -> None:
    packages = package_folder("schemathesis", SCHEMATHESIS)
    configuration = tmp_path / "schemathesis.toml"
    configuration.write_text(f'hooks = "{HOOKS}"\n')
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    with (
        FakeCluster(2, topics=["orders"], partitions=1) as cluster,
        ServerProcess(cluster.bootstrap, "--timeout", "2", "--anonymous", "change") as server,
    ):
        st = (sys.executable, "-c", program, "--config-file", configuration)
        checks = ("--checks", "all", "--max-examples", "5")
        # Events have no end, and no ZooKeeper is there: the response to each valid request is 503.
        excluded = ("--exclude-path", "/api/v1/events", "--exclude-path-regex", "^/api/v1/zookeeper/")
        path = os.pathsep.join((str(packages), str(ROOT / "kwire-admin")))
        run(*st, "run", f"{server.url}/openapi.json", *checks, *excluded, PYTHONPATH=path)
