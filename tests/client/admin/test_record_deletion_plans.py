"""Plans of deletions of records: for any offsets, the plan is what the deletion answers."""

from __future__ import annotations

from random import Random

import pytest

from kwire.client.admin import AdminClient, AdminError, TopicPartition
from kwire.messages import find
from kwire.protocol.errors import NoCommonVersion
from kwire.testing import FakeCluster

ENDS = {0: 100, 1: 0, 2: 7}


@pytest.mark.parametrize("seed", range(5))
async def test_plan_of_a_deletion_is_what_the_deletion_answers(seed: int) -> None:
    random = Random(seed)
    with FakeCluster(brokers=3, topics=["orders", "audit"], partitions=3) as cluster:
        cluster.create_topics(["__internal"], 1, internal=True)
        for topic in ("orders", "audit"):
            cluster.set_ends(topic, ENDS)
        cluster.set_config("cleanup.policy", "compact", topic="audit")
        refused = accepted = 0
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for _ in range(40):
                partitions = random.choices(range(4), k=2)
                topics = random.choices(["orders", "orders", "orders", "audit", "nosuch", "__internal"], k=2)
                before = {
                    TopicPartition(topic, partition): random.choice([-2, -1, 0, 1, 6, 7, 8, 50, 100, 101])
                    for topic, partition in zip(topics, partitions, strict=True)
                }
                plan = _summary(await admin.delete_records(before, validate_only=True))
                assert plan == _summary(await admin.delete_records(before)), before
                refused += sum(isinstance(result, str) for result in plan.values())
                accepted += sum(isinstance(result, int) for result in plan.values())
        assert min(refused, accepted) > 5


async def test_plan_of_a_deletion_fails_if_brokers_do_not_delete_records() -> None:
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        cluster.set_api_versions(find("kafka", name="DeleteRecordsRequest").api_key, 0, -1)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for validate_only in (True, False):
                with pytest.raises(NoCommonVersion):
                    await admin.delete_records({TopicPartition("orders", 0): 0}, validate_only=validate_only)


def _summary(results: dict[TopicPartition, int | AdminError]) -> dict[TopicPartition, int | str]:
    return {
        partition: result.name if isinstance(result, AdminError) else result for partition, result in results.items()
    }
