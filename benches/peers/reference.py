"""The reference codec of kwire in pure Python."""

from __future__ import annotations

from functools import partial

from typing_extensions import override

import kwire.reference
from benches.peers.peer import Codec, Peer
from benches.workloads import content_of, message_class


class Reference(Peer):
    name = "reference"
    distribution = "kwire"
    imports = "import kwire.reference"

    @override
    def codec(self, message: str, version: int) -> Codec:
        cls = message_class(message)
        return Codec(
            decode=partial(kwire.reference.decode, cls, version=version),
            encode=partial(kwire.reference.encode, version=version),
            content=partial(content_of, version=version),
            validate=partial(kwire.reference.validate, cls, version=version),
        )


PEER = Reference()
