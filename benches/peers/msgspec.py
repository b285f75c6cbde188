"""msgspec: the baseline for decoding bytes to objects in CPython.

It does not support Kafka's format, so it reads the same content as MessagePack, following its own performance tips:
structs as arrays without garbage collector headers, tuples for arrays, typed decoders, and reuse of decoder and
encoder. It reads topic ids as 16 bytes, where all others create a `uuid.UUID`, which makes it about 10 % faster in
version 12.
"""

from __future__ import annotations

from functools import lru_cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, get_args, get_origin
from uuid import UUID

import msgspec
from typing_extensions import override

from benches.content import TYPES, carried, read
from benches.peers.peer import Codec, Peer

if TYPE_CHECKING:
    from collections.abc import Hashable

    from benches.workloads import Workload


class Msgspec(Peer):
    name = "msgspec"
    distribution = "msgspec"
    imports = "import msgspec"

    @override
    def payload(self, workload: Workload) -> bytes:
        kind = TYPES[workload.message]
        return msgspec.msgpack.encode(arrays(workload.content(), kind, workload.version))

    @override
    def codec(self, message: str, version: int) -> Codec:
        kind = TYPES[message]
        return Codec(
            decode=msgspec.msgpack.Decoder(struct(kind, version)).decode,
            encode=msgspec.msgpack.Encoder().encode,
            content=lambda decoded: read(decoded, kind, version, field),
        )


@lru_cache
def struct(hint: Hashable, version: int) -> Any:
    """Return the msgspec type for a type of the content."""
    if get_origin(hint) is tuple:
        return GenericAlias(tuple, (struct(get_args(hint)[0], version), ...))
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        fields = [(name, struct(field_hint, version)) for name, field_hint in carried(hint, version).items()]
        return msgspec.defstruct(hint.__name__, fields, array_like=True, gc=False, frozen=True)
    return bytes if hint is UUID else hint


def arrays(value: Any, hint: Any, version: int) -> Any:
    """Convert content to the arrays from which msgspec reads it."""
    if get_origin(hint) is tuple:
        return [arrays(element, get_args(hint)[0], version) for element in value]
    if hasattr(hint, "_fields"):
        return [
            arrays(getattr(value, name), field_hint, version) for name, field_hint in carried(hint, version).items()
        ]
    return value.bytes if hint is UUID else value


def field(part: Any, name: str) -> Any:
    value = getattr(part, name)
    return UUID(bytes=value) if name == "topic_id" else value


PEER = Msgspec()
