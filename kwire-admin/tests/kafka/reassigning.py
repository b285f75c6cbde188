"""A cluster of three real brokers under load, with topics that have data to move."""

from __future__ import annotations

import random
import signal
import threading
from typing import TYPE_CHECKING, Any, Self

import confluent_kafka

from kwire.client.admin import AdminClient, ConfigResource, ConfigResourceType, ConfigSource, TopicDescription
from kwire_admin.reassignment.throttle import RATES, REPLICAS
from tests.cli.administration import Operator
from tests.cli.running import Running
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.clusters import KafkaBroker

PARTITIONS = 12
RECORD = 10_000


class Load:
    """Produces to all partitions of a topic until it is stopped, and counts what was acknowledged.

    Attributes:
        errors: reasons why records were not acknowledged.
        acknowledged: number of acknowledged records.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.errors: list[str] = []
        self.acknowledged = 0
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "message.timeout.ms": 60_000}
        )
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._producer.flush(60)

    def _produce(self) -> None:
        sent = 0
        while not self._stopped.is_set():
            self._producer.produce(self._topic, b"x" * 500, partition=sent % PARTITIONS, on_delivery=self._delivered)
            sent += 1
            self._producer.poll(0.005)

    def _delivered(self, error: Any, _: Any) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.errors.append(str(error))


class Slowed:
    """Stops the process of a broker again and again for half a second: it answers slowly and stays in the cluster.

    It runs for so short a time in between that few requests are answered at once.
    """

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._slow_down)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _slow_down(self) -> None:
        while not self._ended.is_set():
            self._broker.send_signal(signal.SIGSTOP)
            self._ended.wait(0.5)
            self._broker.send_signal(signal.SIGCONT)
            self._ended.wait(0.01)


class Reassigner(Operator):
    """Runs `kafka reassign-partitions` with journals in a folder.

    Attributes:
        folder: the folder of plans and journals.
    """

    def __init__(self, bootstrap: str, folder: Path) -> None:
        super().__init__(bootstrap)
        self.folder = folder

    def rows(self, noun: str, verb: str, *arguments: str | Path) -> list[dict[str, Any]]:
        """Return the rows of a verb."""
        return self.json(noun, verb, *arguments, *self._journal(verb))

    def plan(self, *goals: str) -> Path:
        """Return the file of a new plan."""
        file = self.folder / f"plan-{len(list(self.folder.glob('plan-*')))}.json"
        [made] = self.rows("reassign-partitions", "plan", *goals, "--file", file)
        assert made["optimal"]
        assert made["moves"], goals
        return file

    def launch(self, verb: str, *arguments: str | Path) -> Running:
        """Start a verb in a process, to be killed or interrupted."""
        return Running("-b", self.bootstrap, "reassign", verb, *arguments, *self._journal(verb))

    def _journal(self, verb: str) -> tuple[str | Path, ...]:
        return () if verb in ("plan", "verify", "simulate") else ("--journal", self.folder / "journals")

    def audit(self) -> str:
        """Return all audit lines."""
        return "".join(log.read_text(encoding="utf-8") for log in self.folder.glob("journals/*/audit.log"))


def fill(cluster: KafkaCluster, topic: str, records: int) -> None:
    """Produce random records to all partitions of a topic."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    drawn = random.Random(7)
    for index in range(records):
        producer.produce(topic, drawn.randbytes(RECORD), partition=index % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0


async def throttles(cluster: KafkaCluster) -> dict[str, str]:
    """Return all throttles that brokers and topics set themselves."""
    async with await AdminClient.open(cluster.bootstrap) as admin:
        topics = await admin.list_topics()
        described = await admin.describe_configs(
            [
                *(ConfigResource(ConfigResourceType.BROKER, str(broker.id)) for broker in cluster.brokers),
                *(ConfigResource(ConfigResourceType.TOPIC, name) for name in topics),
            ]
        )
        return {
            f"{resource} {name}": value.value
            for resource, configs in described.items()
            if isinstance(configs, dict)
            for name, value in configs.items()
            if name in (*RATES, *REPLICAS)
            and value.value
            and value.source not in (ConfigSource.DEFAULT, ConfigSource.STATIC)
        }


async def under_replicated(cluster: KafkaCluster) -> list[str]:
    """Return the partitions with replicas that are out of sync."""
    async with await AdminClient.open(cluster.bootstrap) as admin:
        return [
            f"{topic.name}-{partition.partition}"
            for topic in (await admin.describe_topics()).values()
            if isinstance(topic, TopicDescription)
            for partition in topic.partitions
            if set(partition.isr) != set(partition.replicas)
        ]


async def replicas_of(cluster: KafkaCluster, name: str) -> list[tuple[int, ...]]:
    """Return the replicas of the partitions of a topic."""
    async with await AdminClient.open(cluster.bootstrap) as admin:
        topic = (await admin.describe_topics([name]))[name]
        assert isinstance(topic, TopicDescription)
        return [partition.replicas for partition in topic.partitions]


def wait_for_audit(operator: Reassigner, text: str) -> None:
    """Wait until a step is in the audit."""
    eventually_sync(lambda: text in operator.audit(), f"{text!r} in the audit", within=60)


def end(running: Running, how: int) -> str:
    """End a process with a signal, and return what it printed to stderr."""
    running.process.send_signal(how)
    return running.process.communicate(timeout=60)[1].decode()
