"""The admin client while three real brokers restart one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import (
    EARLIEST,
    LATEST,
    AdminClient,
    AdminError,
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    GroupLag,
    NewTopic,
    Outcomes,
    OutcomeUnknown,
    TopicChange,
    TopicDescription,
    TopicPartition,
)
from kwire.errors import KwireError
from tests.eventually import eventually
from tests.real_kafka import Kafka39, Kafka44

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from tests.real_kafka import KafkaCluster

REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.replication.factor": "3",
}
ORDERS = [TopicPartition("orders", index) for index in range(6)]
BROKERS = 3


@pytest.fixture(params=[Kafka39, Kafka44], ids=["3.9.1", "4.4.0"])
def three_brokers(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    with request.param(brokers=BROKERS, config=REPLICATED) as cluster:
        yield cluster


class Verbs:
    """Operations of an admin client, what failed, and how often each of them succeeded.

    Args:
        cluster: the cluster.
        name: the start of the names of topics.
        one_client: true if all rounds share a client, which remembers brokers; otherwise every round has its own.
    """

    def __init__(self, cluster: KafkaCluster, name: str, *, one_client: bool) -> None:
        self.failures: list[str] = []
        self.done: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self._cluster = cluster
        self._name = name
        self._one_client = one_client
        self._numbers = count()

    async def run_until(self, stopped: asyncio.Event) -> None:
        """Run all operations again and again."""
        while not stopped.is_set():
            async with await AdminClient.open(self._cluster.bootstrap) as self.admin:
                await self._run_once()
                while self._one_client and not stopped.is_set():
                    await self._run_once()

    async def _run_once(self) -> None:
        operations: list[Callable[[], Awaitable[Any]]] = [
            self.list_topics,
            self.describe_topics,
            self.create_and_delete_a_topic,
            self.alter_configs,
            self.describe_configs,
            self.look_up_offsets,
            self.commit_offsets,
            self.list_groups,
            self.lag,
            self.describe_log_dirs,
            self.list_transactions,
            self.reassign,
            self.elect,
            self.alter_quotas,
        ]
        for operation in operations:
            name = operation.__name__
            try:
                await operation()
            except OutcomeUnknown:
                self.unknown[name] += 1
            except (KwireError, AssertionError) as error:
                self.failures.append(f"{name}: {type(error).__name__}: {error}")
            else:
                self.done[name] += 1

    async def list_topics(self) -> None:
        assert "orders" in await self.admin.list_topics()

    async def describe_topics(self) -> None:
        topic = (await self.admin.describe_topics(["orders"], configs=True))["orders"]
        assert isinstance(topic, TopicDescription), topic
        assert len(topic.partitions) == len(ORDERS)

    async def create_and_delete_a_topic(self) -> None:
        name = f"{self._name}-{next(self._numbers)}"
        created = await self.admin.create_topics({name: NewTopic(partitions=2, replication_factor=2)})
        self._raise_unless_repeated(created, "TOPIC_ALREADY_EXISTS")
        await self.admin.wait_until_created({name: 2})
        (await self.admin.alter_topics({name: TopicChange(partitions=3)})).raise_first()
        deleted = await self.admin.delete_topics([name])
        self._raise_unless_repeated(deleted, "UNKNOWN_TOPIC_OR_PARTITION")

    def _raise_unless_repeated(self, outcomes: Outcomes, expected: str) -> None:
        """Raise an error, but not one that follows from a repetition by a broker.

        A broker of Kafka 4 forwards commands to the controller, and forwards them again if the controller stops, so
        that a command that is sent once can be executed twice.
        """
        for error in outcomes.errors.values():
            if error.name != expected:
                raise error
            self.unknown["repeated by a broker"] += 1

    async def alter_configs(self) -> None:
        orders = ConfigResource(ConfigResourceType.TOPIC, "orders")
        (await self.admin.alter_configs({orders: ConfigChange(set={"retention.ms": "-1"})})).raise_first()

    async def describe_configs(self) -> None:
        orders = ConfigResource(ConfigResourceType.TOPIC, "orders")
        assert isinstance((await self.admin.describe_configs([orders]))[orders], dict)

    async def look_up_offsets(self) -> None:
        for spec in (EARLIEST, LATEST):
            for partition, found in (await self.admin.list_offsets(dict.fromkeys(ORDERS, spec))).items():
                assert not isinstance(found, AdminError), (partition, found)

    async def commit_offsets(self) -> None:
        (await self.admin.alter_group_offsets("billing", dict.fromkeys(ORDERS, 0))).raise_first()
        committed = (await self.admin.list_group_offsets(["billing"]))["billing"]
        assert not isinstance(committed, AdminError), committed
        assert set(committed) == set(ORDERS)

    async def list_groups(self) -> None:
        assert "billing" in {group.group_id for group in await self.admin.list_groups()}

    async def lag(self) -> None:
        lag = (await self.admin.group_lags(["billing"]))["billing"]
        assert isinstance(lag, GroupLag), lag
        assert all(partition.lag == 0 for partition in lag.partitions), lag

    async def describe_log_dirs(self) -> None:
        assert all(log_dir.error is None for log_dir in await self.admin.describe_log_dirs())

    async def list_transactions(self) -> None:
        await self.admin.list_transactions()

    async def reassign(self) -> None:
        replicas = {index: [1 + (index + shift) % BROKERS for shift in range(3)] for index in range(len(ORDERS))}
        (await self.admin.reassign_partitions({"orders": replicas})).raise_first()
        await self.admin.list_reassignments()

    async def elect(self) -> None:
        outcomes: Outcomes = await self.admin.elect_leaders({"orders": []})
        expected = ("PREFERRED_LEADER_NOT_AVAILABLE",)  # the preferred leader is the broker that restarts
        assert all(error.name in expected for error in outcomes.errors.values()), outcomes

    async def alter_quotas(self) -> None:
        quota = {ClientQuotaEntity(user="alice"): {"producer_byte_rate": 1e6}}
        (await self.admin.alter_client_quotas(quota)).raise_first()


async def test_no_verb_fails_during_a_rolling_restart(three_brokers: KafkaCluster) -> None:
    async with await AdminClient.open(three_brokers.bootstrap) as admin:
        replicas = {index: [1 + (index + shift) % BROKERS for shift in range(3)] for index in range(len(ORDERS))}
        (await admin.create_topics({"orders": NewTopic(assignment=replicas)})).raise_first()
        await admin.wait_until_created({"orders": len(ORDERS)})
        (await admin.alter_group_offsets("billing", dict.fromkeys(ORDERS, 0))).raise_first()

        async def in_sync() -> Any:
            described = (await admin.describe_cluster()).brokers
            topics = (await admin.describe_topics()).values()
            return len(described) == BROKERS and all(
                isinstance(topic, TopicDescription)
                and all(len(partition.isr) == len(partition.replicas) for partition in topic.partitions)
                for topic in topics
            )

        runs = [Verbs(three_brokers, "a", one_client=True), Verbs(three_brokers, "b", one_client=False)]
        stopped = asyncio.Event()
        running = [asyncio.create_task(verbs.run_until(stopped)) for verbs in runs]
        try:
            for broker in three_brokers.brokers:
                await asyncio.to_thread(broker.stop)
                await asyncio.to_thread(broker.start)
                await eventually(in_sync, f"all replicas are in sync after broker {broker.id} restarted", within=60)
        finally:
            stopped.set()
            await asyncio.gather(*running)
    for verbs in runs:
        assert verbs.failures == []
        assert set(verbs.unknown) <= {"create_and_delete_a_topic", "repeated by a broker"}, "these are unsafe to repeat"
        assert all(successes >= BROKERS for successes in verbs.done.values()), verbs.done
