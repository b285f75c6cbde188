"""A cluster for statements. Tests in a terminal need tmux, which Linux machines of developers and of the CI have."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

collect_ignore = [] if shutil.which("tmux") or sys.platform == "linux" else ["test_terminal.py"]

TOPICS = ("orders", "payments", "refunds")


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Return the addresses of a cluster with three brokers and TOPICS, two partitions each."""
    with FakeCluster(3, topics=TOPICS, partitions=2) as cluster:
        yield cluster.bootstrap
