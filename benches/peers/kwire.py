"""kwire through its public functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

import kwire
from benches.peers.kwire_objects import content, message_class
from benches.peers.peer import Codec, Peer
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kwire(Peer):
    name = "kwire"
    distribution = "kwire"
    imports = "from kwire.messages.kafka import MetadataResponse"

    @override
    def codec(self, message: str, version: int) -> Codec:
        cls = message_class(message)
        return Codec(
            decode=partial(kwire.decode, cls, version=version),
            encode=partial(kwire.encode, version=version),
            content=content,
            validate=partial(kwire.validate, cls, version=version),
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
