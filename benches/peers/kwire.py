"""kwire through its public functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

import kwire
from benches.peers.peer import Codec, Peer
from benches.workloads import content_of, message_class
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.declare import Message


class Kwire(Peer):
    name = "kwire"
    distribution = "kwire"
    imports = "from kwire.messages.kafka import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        cls = message_class(message)

        # As programs call it. A `partial` with a keyword copies a dict, which takes as long as a part of the message.
        def decode(data: bytes) -> Message:
            return kwire.decode(cls, data, version=version)

        def encode(message: Message) -> bytes:
            return kwire.encode(message, version=version)

        def validate(data: bytes) -> None:
            kwire.validate(cls, data, version=version)

        return Codec(
            decode=decode,
            encode=encode,
            content=partial(content_of, version=version),
            validate=validate,
            view=partial(read_partitions, version) if cls is MetadataResponse else None,
        )


def read_partitions(version: int, names: Sequence[str], body: bytes) -> None:
    """Open a view of a MetadataResponse and read one partition of each named topic."""
    response = kwire.view(MetadataResponse, body, version=version)
    for name in names:
        topic = kwire.find(response.topics, name=name)
        assert topic is not None
        assert topic.partitions[0].leader_id >= 0


PEER = Kwire()
