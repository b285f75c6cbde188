"""Programs in the documentation that need a real broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from kwire.client.admin import AdminClient, ClientQuotaEntity
from tests.docs.pages import DOCS, README, blocks, programs
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from tests.real_kafka import KafkaCluster


async def test_the_quota_page_sets_the_quota(cluster: KafkaCluster) -> None:
    [program] = programs(DOCS / "how-to" / "quotas.md")
    program = program.replace("localhost:9092", cluster.bootstrap.partition(",")[0])

    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.stdout, run.stderr) == ("[(0, None)]\n", "")
    batch = ClientQuotaEntity(user="batch")
    async with await AdminClient.open(cluster.bootstrap) as admin:
        assert await admin.describe_client_quotas(batch) == {batch: {"producer_byte_rate": 1_048_576.0}}
        (await admin.alter_client_quotas({batch: {"producer_byte_rate": None}})).raise_first()
        await admin.wait_until_client_quotas({batch: {"producer_byte_rate": None}})


def test_the_first_example_of_the_readme_polls_a_real_broker(cluster: KafkaCluster) -> None:
    """One poll without an error is enough: the events are tested with a fake cluster."""
    program = programs(README)[0].replace("localhost:9092", cluster.bootstrap)
    program += "        break\nprint(poll.error, poll.broker_id > 0, poll.message is not None)\n"

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)

    assert (run.stdout, run.stderr) == ("None True True\n", "")


@pytest.fixture
def page_for_confluent_users() -> dict[str, Any]:
    """The functions of the page, as a reader would paste them."""
    names: dict[str, Any] = {}
    exec("\n".join(programs(DOCS / "how-to" / "confluent-kafka.md")), names)
    return names


def test_functions_for_users_of_confluent_kafka_work(
    cluster: KafkaCluster, page_for_confluent_users: dict[str, Any]
) -> None:
    page = page_for_confluent_users
    with page["connect"](cluster.bootstrap, None) as admin:
        page["create"](admin, "moved-from-confluent")
        try:
            assert page["count_partitions"](admin)["moved-from-confluent"] == 2
            assert page["change_retention"](admin, "moved-from-confluent", 7) == "60000"
            eventually_sync(lambda: page["change_retention"](admin, "moved-from-confluent", 7) == "7", "it is changed")
            assert page["lag_after_reset"](admin, "moved-group", "moved-from-confluent") == 0
            admin.delete_groups(["moved-group"]).raise_first()
        finally:
            page["delete"](admin, "moved-from-confluent")


def test_programs_of_confluent_kafka_on_the_page_work(cluster: KafkaCluster) -> None:
    """The page shows both clients, so both are run: the code of the other one can be compared and copied."""
    imports, connect, create, *others = blocks(DOCS / "how-to" / "confluent-kafka.md", "py")
    names: dict[str, Any] = {"password": "secret"}
    exec(imports, names)
    exec(connect, names)  # connects when it is used
    names["admin"] = names["AdminClient"]({"bootstrap.servers": cluster.bootstrap})
    exec(create.replace("replication_factor=3", "replication_factor=1"), names)
    partition = names["TopicPartition"]("orders", 0)
    eventually_sync(lambda: "orders" in names["admin"].list_topics(timeout=60).topics, "the broker knows the topic")
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(5):
        producer.produce(partition.topic, str(number), partition=partition.partition)
    assert producer.flush(60) == 0

    for program in others:
        exec(program, names)

    assert names["partitions"]["orders"] == 12
    assert names["retention"] == "60000"
    assert names["lag"] == 2
