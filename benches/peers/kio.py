"""kio: Kafka's messages as one frozen dataclass for each version, decoded in Rust and encoded in Python.

Its readers and writers are created once, as its documentation recommends. `TopicMetadataResponse_V1` was never
released, so only kwire supports it.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from kio.serial import entity_reader, entity_writer
from typing_extensions import override

from benches.content import TYPES, read
from benches.peers.peer import Codec, Peer, Unable

if TYPE_CHECKING:
    from collections.abc import Callable


class Kio(Peer):
    name = "kio"
    distribution = "kio"
    imports = "from kio.schema.metadata.v12 import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        match message:
            case "MetadataResponse":
                package = "metadata"
            case "ApiVersionsResponse":
                package = "api_versions"
            case _:
                raise Unable(f"{message} is not in its schema")
        cls = getattr(import_module(f"kio.schema.{package}.v{version}"), message)
        return Codec(
            decode=partial(decode, entity_reader(cls)),
            encode=partial(encode, entity_writer(cls)),
            content=lambda decoded: read(decoded, TYPES[message], version, field),
        )


def decode(read: Callable[[bytes, int], tuple[Any, int]], data: bytes) -> Any:
    """Decode a message. The readers of kio also return the number of bytes read."""
    return read(data, 0)[0]


def encode(write: Callable[[BytesIO, Any], None], message: Any) -> bytes:
    buffer = BytesIO()
    write(buffer, message)
    return buffer.getvalue()


def field(part: Any, name: str) -> Any:
    """Return a field. Times are a `timedelta`."""
    return round(part.throttle_time.total_seconds() * 1000) if name == "throttle_time_ms" else getattr(part, name)


PEER = Kio()
