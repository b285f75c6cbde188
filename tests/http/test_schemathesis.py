"""Requests that Schemathesis generates from the OpenAPI document get responses that the document describes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.http.server_process import ServerProcess
from tests.installing import package_folder, run

if TYPE_CHECKING:
    from pathlib import Path

SCHEMATHESIS = "4.32.5"
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 403, 404, 409, 422, 428, 429, "5xx"]
"""
"""Values such as principals and sizes are strings for JSON Schema, so their errors (400) are expected. Schemathesis
sends different requests with the same Idempotency-Key (422)."""


@pytest.mark.programs
def test_server_behaves_as_its_document_says(tmp_path: Path) -> None:
    packages = package_folder("schemathesis", SCHEMATHESIS)
    configuration = tmp_path / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    with (
        FakeCluster(2, topics=["orders"], partitions=1) as cluster,
        ServerProcess(cluster.bootstrap, "--timeout", "2", "--anonymous", "change") as server,
    ):
        st = (sys.executable, "-c", program, "--config-file", configuration)
        checks = ("--checks", "all", "--phases", "fuzzing", "--max-examples", "5")
        endless = ("--exclude-path", "/api/v1/events")
        run(*st, "run", f"{server.url}/openapi.json", *checks, *endless, PYTHONPATH=str(packages))
