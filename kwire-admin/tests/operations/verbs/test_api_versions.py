"""`kafka brokers api-versions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient
from kwire.client.admin.errors import BrokerNotFound
from kwire.testing import FakeCluster
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.brokers import ServedApi, api_versions

if TYPE_CHECKING:
    from kwire.protocol.negotiated_versions import Dialect


@pytest.mark.parametrize(("dialect", "key", "name"), [("kafka", 3, "Metadata"), ("kip4", 1000, "ClusterMetadata")])
async def test_versions_of_every_broker_are_shown(dialect: Dialect, key: int, name: str) -> None:
    with FakeCluster(2, dialect=dialect) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            rows = await api_versions(Run(admin), brokers=[])
            assert {row.broker for row in rows} == {1, 2}
            assert [row for row in rows if row.broker == 2] == await api_versions(Run(admin), brokers=[2])
            assert await api_versions(Run(admin), brokers=[], different=True) == []
            with pytest.raises(BrokerNotFound):
                await api_versions(Run(admin), brokers=[9])
    shown = {row.key: row for row in rows if row.broker == 1}
    assert shown[18].api == "ApiVersions"
    assert shown[key].api == name, shown
    assert shown[key].used == shown[key].highest


async def test_versions_that_differ_are_shown_with_the_version_that_kwire_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an upgrade, one broker serves more than the others, and something that kwire does not know."""

    async def describe_api_versions(
        brokers: list[int], *, unanswered: dict[int, Exception]
    ) -> dict[int, dict[int, tuple[int, int]]]:
        del brokers, unanswered
        return {2: {3: (0, 99), 18: (0, 4), 500: (0, 1)}, 1: {3: (0, 12), 18: (0, 4)}}

    with FakeCluster(1) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            monkeypatch.setattr(admin, "describe_api_versions", describe_api_versions)
            rows = await api_versions(Run(admin), brokers=[], different=True)
    assert rows == [
        ServedApi(1, 3, "Metadata", 0, 12, 12),
        ServedApi(2, 3, "Metadata", 0, 99, 13),
        ServedApi(2, 500, None, 0, 1, None),
    ]
