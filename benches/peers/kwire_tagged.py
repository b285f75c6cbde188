"""kwire decoding messages with an unknown tag, which is empty, in every struct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

import kwire
from benches.peers.kwire import Kwire
from benches.peers.peer import Codec, Unable
from benches.workloads import message_class
from kwire.declare import Struct
from kwire.declare.introspect import describe, fields

if TYPE_CHECKING:
    from benches.workloads import Workload

TAGS = {100: b""}


class KwireTagged(Kwire):
    name = "kwire, tags"

    @override
    def payload(self, workload: Workload) -> bytes:
        decoded = kwire.decode(message_class(workload.message), workload.body(), version=workload.version)
        return kwire.encode(tagged(decoded), version=workload.version)

    @override
    def codec(self, message: str, version: int) -> Codec:
        if not describe(message_class(message)).is_flexible(version):
            raise Unable("the version has no tags")
        return super().codec(message, version)


def tagged(value: Any) -> Any:
    """Return a copy in which every struct has the tag."""
    if isinstance(value, tuple):
        return tuple([tagged(element) for element in value])
    if not isinstance(value, Struct):
        return value
    changed = {field.name: tagged(getattr(value, field.name)) for field in fields(type(value))}
    replaced: Any = value
    return replaced.__replace__(unknown_tags=TAGS, **changed)


PEER = KwireTagged()
