"""kwire through its public functions."""

from __future__ import annotations

from functools import partial

from typing_extensions import override

import kwire
from benches.peers.kwire_objects import content, message_class
from benches.peers.peer import Codec, Peer


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
        )


PEER = Kwire()
