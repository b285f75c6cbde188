"""The brokers and partitions of a cluster at one moment."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment.errors import InvalidSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping


FORMAT = "kwire-cluster-snapshot"
VERSION = 1


class BrokerSnapshot(NamedTuple):
    """A broker.

    Attributes:
        id: the broker id.
        rack: its rack; None if it has none.
        is_live: true if it is running.
        disk_bytes: bytes of the volumes of its log directories; None if unknown.
        free_bytes: bytes that are left on them; None if unknown.
    """

    id: int
    rack: str | None = None
    is_live: bool = True
    disk_bytes: int | None = None
    free_bytes: int | None = None


class PartitionSnapshot(NamedTuple):
    """A partition.

    Attributes:
        topic: the topic.
        partition: its index.
        replicas: the ids of its brokers, the preferred leader first.
        size: bytes of its log; None if unknown.
        leader: the broker that leads it; None if no broker does.
        isr: the replicas that are in sync; None if unknown.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    size: int | None = None
    leader: int | None = None
    isr: tuple[int, ...] | None = None

    @property
    def key(self) -> TopicPartition:
        """The topic and the index."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True)
class ClusterSnapshot:
    """A cluster at one moment.

    Attributes:
        brokers: its brokers in ascending order of id, including brokers that are down and still have replicas.
        partitions: its partitions in order of topic and index.
        cluster_id: the id of the cluster; None if it has none.
    """

    brokers: tuple[BrokerSnapshot, ...]
    partitions: tuple[PartitionSnapshot, ...] = field(repr=False)
    cluster_id: str | None = None

    @cached_property
    def by_key(self) -> Mapping[TopicPartition, PartitionSnapshot]:
        """The partitions by topic and index."""
        return {TopicPartition(partition.topic, partition.partition): partition for partition in self.partitions}

    @property
    def has_sizes(self) -> bool:
        """True if the size of every partition is known."""
        return bool(self.partitions) and all(partition.size is not None for partition in self.partitions)

    def to_json(self) -> str:
        """Return the snapshot as JSON, one partition a line."""
        head = json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "cluster_id": self.cluster_id,
                "brokers": [broker._asdict() for broker in self.brokers],
            }
        )
        lines = ",\n".join(json.dumps(list(partition)) for partition in self.partitions)
        return f'{head[:-1]}, "partitions": [\n{lines}\n]}}\n'

    @classmethod
    def from_json(cls, text: str) -> ClusterSnapshot:
        """Return the snapshot for a text that `to_json` has written.

        Raises:
            InvalidSnapshot: the text is not a snapshot.
        """
        try:
            document = parse_json_document(text)
        except MalformedJson as error:
            raise InvalidSnapshot(f"expected a snapshot as JSON: {error}") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidSnapshot(f'expected a JSON object with "format": "{FORMAT}"')
        if document.get("version") != VERSION:
            raise InvalidSnapshot(f"version {document.get('version')!r} of snapshots is unknown: expected {VERSION}")
        try:
            brokers = tuple(BrokerSnapshot(**broker) for broker in document["brokers"])
            partitions = tuple(_partition(partition) for partition in document["partitions"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidSnapshot(f"the snapshot has an entry of the wrong shape: {error}") from None
        return cls(brokers, partitions, document.get("cluster_id"))


def _partition(entry: list[Any]) -> PartitionSnapshot:
    topic, partition, replicas, size, leader, isr = entry
    return PartitionSnapshot(topic, partition, tuple(replicas), size, leader, None if isr is None else tuple(isr))
