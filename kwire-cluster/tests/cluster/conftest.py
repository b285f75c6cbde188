"""A cluster of real processes, and a summary of the faults that it went through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient
from kwire_cluster.local.local_cluster import LocalCluster
from tests.cluster.faults import SESSION_SECONDS, TALLY

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster(java: None) -> Iterator[LocalCluster]:
    """Three nodes that can kill themselves; every test leaves them running and consistent."""
    with LocalCluster(nodes=3, session_timeout=SESSION_SECONDS, module="tests.cluster.dying_node") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster: LocalCluster) -> Iterator[BlockingAdminClient]:
    """A client of the cluster."""
    with BlockingAdminClient(cluster.bootstrap) as admin:
        yield admin


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for fault, runs in sorted(TALLY.items()):
        terminalreporter.write_line(f"{fault}: {runs.runs} runs, {runs.lost} acknowledged changes lost")
