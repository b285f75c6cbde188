"""A cluster to poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=12, partitions=3) as cluster:
        yield cluster
