"""Descriptions of features: every broker is listed, also one without features (KIP-584)."""

from __future__ import annotations

import pytest

from kwire.client.admin import AdminClient
from kwire.testing import FakeCluster
from tests.operations.verbs.dry_runs import run_case


@pytest.mark.parametrize("kraft", [True, False])
async def test_every_broker_is_listed(kraft: bool) -> None:
    with FakeCluster(brokers=3, kraft=kraft) as cluster:
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            result = await run_case(admin, "features describe", {}, dry_run=False)
            addresses = [f"{row['host']}:{row['port']}" for row in result.rows]
            assert addresses == [cluster.endpoint(broker) for broker in (1, 2, 3)]
            expected = ("metadata.version", 1, 30) if kraft else (None, None, None)
            for row in result.rows:
                assert (row["name"], row["supported_min"], row["supported_max"]) == expected
