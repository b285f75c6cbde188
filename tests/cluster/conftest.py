"""A cluster of real processes for the tests of this folder, and the figures of the faults that it went through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import BlockingAdminClient
from kwire.testing.local_cluster import LocalCluster
from tests.cluster.faults import SESSION_SECONDS, TALLY

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Three nodes that can be told to die; every test leaves them sound and running."""
    with LocalCluster(nodes=3, session_timeout=SESSION_SECONDS, module="tests.cluster.dying_node") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster: LocalCluster) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(cluster.bootstrap) as admin:
        yield admin


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for fault, runs in sorted(TALLY.items()):
        terminalreporter.write_line(f"{fault}: {runs.runs} runs, {runs.lost} acknowledged changes lost")
