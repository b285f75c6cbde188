"""aiokafka: pure Python, with the interpreted structures of fields that kafka-python had before it compiled them.

It supports MetadataResponse up to version 5 and ApiVersionsResponse up to version 2, so it takes part only in those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiokafka.protocol import metadata as schema
from typing_extensions import override

from benches.content import NO_UUID, Broker, Metadata, Partition, Topic
from benches.peers.peer import Codec, Peer, Unable

if TYPE_CHECKING:
    from collections.abc import Sequence


class Aiokafka(Peer):
    name = "aiokafka"
    distribution = "aiokafka"
    imports = "from aiokafka.protocol.metadata import MetadataResponse_v5"

    @override
    def codec(self, message: str, version: int) -> Codec:
        match message:
            case "MetadataResponse" if version <= 5:
                cls = getattr(schema, f"MetadataResponse_v{version}")
                return Codec(decode=cls.decode, encode=cls.encode, content=metadata)
            case "MetadataResponse":
                raise Unable("its newest version is 5")
            case "ApiVersionsResponse":
                raise Unable("its newest version is 2")
            case _:
                raise Unable(f"{message} is not one of its messages")


def metadata(message: Any) -> Metadata:
    return Metadata(
        throttle_time_ms=getattr(message, "throttle_time_ms", 0),
        brokers=tuple(Broker(*broker) for broker in message.brokers),
        cluster_id=getattr(message, "cluster_id", None),
        controller_id=message.controller_id,
        topics=tuple(
            Topic(error_code, name, NO_UUID, is_internal, tuple(partition(*fields) for fields in partitions))
            for error_code, name, is_internal, partitions in message.topics
        ),
    )


def partition(
    error_code: int,
    index: int,
    leader: int,
    replicas: Sequence[int],
    in_sync: Sequence[int],
    offline: Sequence[int] = (),
) -> Partition:
    return Partition(error_code, index, leader, -1, tuple(replicas), tuple(in_sync), tuple(offline))


PEER = Aiokafka()
