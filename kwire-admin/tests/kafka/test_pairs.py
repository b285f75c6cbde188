"""A guard of a verb that sets something is a guard of the verb that unsets it, on real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, NewTopic
from tests.operations.verbs.pairs import check_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster


@pytest.mark.parametrize("fixture", ["kafka39", "kafka44"])
async def test_what_does_not_exist_is_neither_set_nor_unset(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(fixture)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # has the runs of reassignments
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({"paired": NewTopic(partitions=1)})).raise_first()
        await admin.wait_until_created(["paired"])
        await check_pairs(admin, "paired")
