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
    with (
        FakeCluster(2, topics=["orders"], partitions=1) as cluster,
        ServerProcess(cluster.bootstrap, "--timeout", "2", "--anonymous", "change") as server,
    ):
        # Events have no end; the test of kwire-zookeeper-tools has a ZooKeeper.
        excluded = ("--exclude-path", "/api/v1/events", "--exclude-path-regex", "^/api/v1/zookeeper/")
        run_schemathesis(server, tmp_path, *excluded)


def run_schemathesis(server: ServerProcess, folder: Path, *options: str, **environment: str) -> None:
    """Send requests of all kinds to a server, and check its responses.

    Args:
        server: the server.
        folder: gets the configuration.
        options: the selection of paths.
        environment: variables for the hooks.
    """
    packages = package_folder("schemathesis", SCHEMATHESIS)
    configuration = folder / "schemathesis.toml"
    configuration.write_text(f'hooks = "{HOOKS}"\n')
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    st = (sys.executable, "-c", program, "--config-file", configuration)
    checks = ("--checks", "all", "--max-examples", "5")
    path = os.pathsep.join((str(packages), str(ROOT / "kwire-admin")))
    run(*st, "run", f"{server.url}/openapi.json", *checks, *options, PYTHONPATH=path, **environment)
