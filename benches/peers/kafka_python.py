"""kafka-python: pure Python, with codecs that it compiles from Kafka's schemas on first use.

A decoded message has its version, with which `encode(version=...)` fails, so `encode` is called without it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from typing_extensions import override

from benches.content import OPERATIONS_NOT_REQUESTED, TYPES, read
from benches.peers.peer import Codec, Peer, Unable


class KafkaPython(Peer):
    name = "kafka-python"
    distribution = "kafka-python"
    imports = "from kafka.protocol.metadata import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        match message:
            case "MetadataResponse":
                cls = MetadataResponse
            case "ApiVersionsResponse":
                cls = ApiVersionsResponse
            case _:
                raise Unable(f"{message} is not in its schema")
        return Codec(
            decode=partial(cls.decode, version=version),
            encode=cls.encode,
            content=lambda decoded: read(decoded, TYPES[message], version, field),
        )


def field(part: Any, name: str) -> Any:
    """Return a field. None of the operations, a set of bits, means that they were not requested."""
    if not name.endswith("_authorized_operations"):
        return getattr(part, name)
    bits = part.authorized_operations
    return OPERATIONS_NOT_REQUESTED if bits is None else sum(1 << bit for bit in bits)


PEER = KafkaPython()
