"""Clusters that lack an API, as of other vendors: what is not known is said, and the rest is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient
from kwire.messages import find
from kwire.testing import FakeCluster
from tests.operations.verbs.dry_runs import run_case

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        for name in ("DescribeConfigsRequest", "DescribeLogDirsRequest"):
            cluster.set_api_versions(find("kafka", name=name).api_key, 0, -1)
        yield cluster


async def rows_of(cluster: FakeCluster, case: str) -> tuple[list[Any], str]:
    """Return the rows of a verb and its warnings."""
    async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
        result = await run_case(admin, case, {}, dry_run=False)
    assert result.error is None, result
    return result.rows, " ".join(result.warnings)


async def test_topics_are_described_without_their_configs(cluster: FakeCluster) -> None:
    [topic], warnings = await rows_of(cluster, "topics describe orders")
    assert len(topic["partitions"]) == 2
    assert topic["configs"] is None
    assert "the configs of 1 topic are not known" in warnings
    [topic], _ = await rows_of(cluster, "topics list --details")
    assert topic["configs"] is None


async def test_export_names_the_sections_that_are_missing(cluster: FakeCluster) -> None:
    [exported], warnings = await rows_of(cluster, "configs export")
    assert "orders" not in exported["document"]
    assert "topics are left out: " in warnings
    assert "brokers are left out: " in warnings


async def test_health_names_what_it_could_not_check(cluster: FakeCluster) -> None:
    rows, _ = await rows_of(cluster, "cluster health")
    unchecked = [row["details"] for row in rows if row["problem"] == "not-checked"]
    assert len(unchecked) == len(rows)
    assert any("log directories" in details and "DescribeLogDirs" in details for details in unchecked), unchecked


async def test_dry_run_says_that_it_cannot_know_if_a_topic_is_compacted(cluster: FakeCluster) -> None:
    async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
        dry = await run_case(admin, "offsets delete-records orders:0 --before 10", {}, dry_run=True)
        real = await run_case(admin, "offsets delete-records orders:0 --before 10", {}, dry_run=False)
    assert dry.rows == real.rows
    assert any("the configs of orders are not known" in warning for warning in dry.warnings), dry
