"""The messages that benchmarks decode and encode, generated from a seed.

    python -m benches.workloads b --version 12 --replicas kafka-like --seed 1 --out FILE

This command writes the bytes of one workload. The same arguments give the same bytes on every machine and Python.

| name | message | content |
|---|---|---|
| a | MetadataResponse | 10 brokers, 100 topics of 10 partitions, 3 replicas |
| b | MetadataResponse | 30 brokers, 5,000 topics of 20 partitions, 3 replicas |
| ka, kb | TopicMetadataResponse_V1 | the brokers, topics and partitions of a and b, with the lag of each replica |
| v | ApiVersionsResponse | 60 keys, 5 supported and 5 finalized features, 690 bytes |

All workloads have broker ids from 1 (`--first-broker 1001` gives ids like those ZooKeeper generates, for which CPython
has no cached integers), host names of 35 characters, and topic names of 25 to 35. Every replica is in sync and online,
and the first one is the leader. There are no racks, errors, configs, or authorized operations.

Three options affect how well codecs can cache values:

* `replicas`: `kafka-like` is Kafka's assignment, in which replica lists repeat. `random` draws three brokers for each
  partition.
* `epochs`: `young` is a cluster that is restarted occasionally: 90 % of the leader epochs are between 0 and 5, the rest
  up to 60. `old` distributes them evenly up to 2,000, beyond CPython's cached integers. `zero` is a cluster without
  leader changes.
* `lags`: `zero`, or `mixed`: 37 % of all replicas lag by up to 5,000 messages. Leaders do not lag, so 55.5 % of the
  followers do.
"""

from __future__ import annotations

import argparse
import string
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

import kwire
from benches.content import TYPES, Content, read
from kwire.messages.kafka.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kip4.structures import Broker as Kip4Broker
from kwire.messages.kip4.topic_metadata_v1 import (
    PartitionMetadata,
    ReplicaLag,
    TopicMetadata,
    TopicMetadataResponse_V1,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.declare import Message

Name: TypeAlias = Literal["a", "b", "ka", "kb", "v"]
Replicas: TypeAlias = Literal["kafka-like", "random"]
Epochs: TypeAlias = Literal["young", "old", "zero"]
Lags: TypeAlias = Literal["zero", "mixed"]

REPLICATION_FACTOR = 3
SHARE_OF_FOLLOWERS_BEHIND = 0.37 * REPLICATION_FACTOR / (REPLICATION_FACTOR - 1)


@dataclass(frozen=True)
class Size:
    brokers: int
    topics: int
    partitions_each: int

    @property
    def partitions(self) -> int:
        return self.topics * self.partitions_each


SMALL = Size(brokers=10, topics=100, partitions_each=10)
LARGE = Size(brokers=30, topics=5_000, partitions_each=20)
SIZES: dict[Name, Size] = {"a": SMALL, "b": LARGE, "ka": SMALL, "kb": LARGE}
LOWEST_AND_HIGHEST_VERSION: dict[Name, tuple[int, int]] = {
    "a": (1, 12),
    "b": (1, 12),
    "ka": (1, 1),
    "kb": (1, 1),
    "v": (3, 3),
}
MESSAGES: dict[Name, type[Message]] = {
    "a": MetadataResponse,
    "b": MetadataResponse,
    "ka": TopicMetadataResponse_V1,
    "kb": TopicMetadataResponse_V1,
    "v": ApiVersionsResponse,
}


@dataclass(frozen=True)
class Workload:
    """The parameters of one message."""

    name: Name
    version: int
    replicas: Replicas = "kafka-like"
    epochs: Epochs = "young"
    lags: Lags = "zero"
    seed: int = 1
    first_broker: int = 1

    def __post_init__(self) -> None:
        lowest, highest = LOWEST_AND_HIGHEST_VERSION[self.name]
        if not lowest <= self.version <= highest:
            raise ValueError(f"{self.name} has versions {lowest} to {highest}, not {self.version}")

    @property
    def message(self) -> str:
        """The name of the message class."""
        return MESSAGES[self.name].__name__

    @property
    def partitions(self) -> int:
        """The number of partitions, 0 for a message without partitions."""
        return SIZES[self.name].partitions if self.name in SIZES else 0

    def __str__(self) -> str:
        match self.name:
            case "v":
                return f"v v{self.version}"
            case "ka" | "kb":
                return f"{self.name} v{self.version} {self.replicas}, lags {self.lags}"
            case _:
                return f"{self.name} v{self.version} {self.replicas}"

    def content(self) -> Content:
        """Return the content that its version can express."""
        return content(self)

    def body(self) -> bytes:
        """Return the encoded message."""
        return kwire.encode(message(self), version=self.version)


@lru_cache(maxsize=1)
def content(workload: Workload) -> Content:
    """Return the content of a workload. The last one is cached, because tests and peers use the same one in turn."""
    return content_of(message(workload), workload.version)


def message_class(name: str) -> type[Message]:
    """Return the class of a message of kwire."""
    return next(cls for cls in MESSAGES.values() if cls.__name__ == name)


def content_of(message: Any, version: int) -> Content:
    """Convert a message of kwire to content."""

    def field(part: Any, name: str) -> Any:
        return getattr(part, name, None)  # brokers of TopicMetadataResponse_V1 have no rack

    found: Content = read(message, TYPES[type(message).__name__], version, field)
    return found


def message(workload: Workload) -> Message:
    """Generate a message, with the fields that its version lacks."""
    random = Random(workload.seed)
    match workload.name:
        case "a" | "b":
            return metadata(random, workload)
        case "ka" | "kb":
            return topic_metadata(random, workload)
        case "v":
            return api_versions(random)


def metadata(random: Random, workload: Workload) -> MetadataResponse:
    size = SIZES[workload.name]
    members = brokers(size, workload.first_broker)
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=members,
        cluster_id="".join(random.choices(string.ascii_letters + string.digits, k=22)),
        controller_id=random.choice(members).node_id,
        topics=tuple(
            MetadataResponseTopic(
                error_code=0,
                name=name,
                topic_id=UUID(bytes=random.randbytes(16), version=4),
                is_internal=False,
                partitions=tuple(
                    MetadataResponsePartition(
                        error_code=0,
                        partition_index=index,
                        leader_id=replicas[0],
                        leader_epoch=leader_epoch(random, workload.epochs),
                        replica_nodes=replicas,
                        isr_nodes=replicas,
                    )
                    for index, replicas in enumerate(placement(random, workload, members))
                ),
            )
            for name in topic_names(random, size.topics)
        ),
    )


def topic_metadata(random: Random, workload: Workload) -> TopicMetadataResponse_V1:
    size = SIZES[workload.name]
    members = brokers(size, workload.first_broker)
    return TopicMetadataResponse_V1(
        brokers=tuple(Kip4Broker(node_id=broker.node_id, host=broker.host, port=broker.port) for broker in members),
        topics=tuple(
            TopicMetadata(
                topic_error_code=0,
                topic_name=name,
                partitions=tuple(
                    PartitionMetadata(
                        partition_error_code=0,
                        partition_id=index,
                        leader=replicas[0],
                        replicas_lag=replica_lags(random, workload.lags, replicas),
                        isr=replicas,
                    )
                    for index, replicas in enumerate(placement(random, workload, members))
                ),
                config_entries=(),
            )
            for name in topic_names(random, size.topics)
        ),
    )


def api_versions(random: Random) -> ApiVersionsResponse:
    """Generate the features that Kafka has, with which the message has 690 bytes."""
    features = (
        ("metadata.version", 1, 30),
        ("kraft.version", 0, 1),
        ("transaction.version", 0, 2),
        ("group.version", 0, 1),
        ("eligible.leader.replicas.version", 0, 1),
    )
    return ApiVersionsResponse(
        error_code=0,
        api_keys=tuple(ApiVersion(api_key=key, min_version=0, max_version=random.randint(0, 17)) for key in range(60)),
        throttle_time_ms=0,
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
            for name, lowest, highest in features
        ),
        finalized_features_epoch=random.randrange(100_000),
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=highest, min_version_level=highest)
            for name, _, highest in features
        ),
    )


def brokers(size: Size, first_broker: int) -> tuple[MetadataResponseBroker, ...]:
    return tuple(
        MetadataResponseBroker(node_id=node_id, host=f"broker-{node_id:05}.kafka.prod.example.com", port=9092)
        for node_id in range(first_broker, first_broker + size.brokers)
    )


def topic_names(random: Random, number: int) -> list[str]:
    """Generate distinct names of 25 to 35 characters, in random order, as brokers report them."""
    names: set[str] = set()
    ordered: list[str] = []
    while len(ordered) < number:
        name = "".join(random.choices(string.ascii_lowercase + "-.", k=random.randint(25, 35)))
        if name not in names:
            names.add(name)
            ordered.append(name)
    return ordered


def placement(random: Random, workload: Workload, members: tuple[MetadataResponseBroker, ...]) -> list[tuple[int, ...]]:
    place = kafka_like if workload.replicas == "kafka-like" else random_triples
    ids = [broker.node_id for broker in members]
    return place(random, ids, SIZES[workload.name].partitions_each, REPLICATION_FACTOR)


def kafka_like(random: Random, brokers: Sequence[int], partitions: int, factor: int) -> list[tuple[int, ...]]:
    """Assign as Kafka does without racks: leaders in turn, followers with a shift that grows after each round."""
    count = len(brokers)
    start = random.randrange(count)
    shift = random.randrange(count)
    assignment = []
    for partition in range(partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = ((first + 1 + (shift + turn) % (count - 1)) % count for turn in range(factor - 1))
        assignment.append((brokers[first], *(brokers[index] for index in followers)))
    return assignment


def random_triples(random: Random, brokers: Sequence[int], partitions: int, factor: int) -> list[tuple[int, ...]]:
    """Assign random brokers to every partition."""
    return [tuple(random.sample(brokers, factor)) for _ in range(partitions)]


def leader_epoch(random: Random, epochs: Epochs) -> int:
    match epochs:
        case "young":
            return random.randint(0, 5) if random.random() < 0.9 else random.randint(6, 60)
        case "old":
            return random.randint(0, 2_000)
        case "zero":
            return 0


def replica_lags(random: Random, lags: Lags, replicas: tuple[int, ...]) -> tuple[ReplicaLag, ...]:
    leader, *followers = replicas
    behind = [lags == "mixed" and random.random() < SHARE_OF_FOLLOWERS_BEHIND for _ in followers]
    return (
        ReplicaLag(replica_id=leader, lag=0),
        *(
            ReplicaLag(replica_id=follower, lag=random.randint(1, 5_000) if late else 0)
            for follower, late in zip(followers, behind, strict=True)
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.workloads", description="Write the bytes of a workload.")
    parser.add_argument("name", choices=list(MESSAGES))
    parser.add_argument("--version", type=int, help="version of the message [default: the highest]")
    parser.add_argument("--replicas", "--flavour", choices=["kafka-like", "random"], default="kafka-like")
    parser.add_argument("--epochs", choices=["young", "old", "zero"], default="young")
    parser.add_argument("--lags", choices=["zero", "mixed"], default="zero")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-broker", type=int, default=1, help="the lowest broker id [default: 1]")
    parser.add_argument("--out", type=Path, required=True, help="write the message to this file")
    given = parser.parse_args()
    version = LOWEST_AND_HIGHEST_VERSION[given.name][1] if given.version is None else given.version
    try:
        workload = Workload(
            given.name, version, given.replicas, given.epochs, given.lags, given.seed, given.first_broker
        )
    except ValueError as error:
        parser.error(str(error))
    body = workload.body()
    given.out.write_bytes(body)
    print(f"{workload}: {len(body):,} bytes of {workload.message} in {given.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
