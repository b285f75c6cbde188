"""The position of an UpdateMetadata request among the updates of its controller, so that a broker notices a gap.

The position travels in an unknown tagged field, which Kafka's brokers ignore.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest

__all__ = ["UpdatePosition"]

_TAG = 10_010
_LAYOUT = Struct(">qqii")


class UpdatePosition(NamedTuple):
    """The position of an update.

    Attributes:
        before: the position that a broker must have for an incremental update.
        after: its position after the update.
        topics: the number of topics in the cluster.
        partitions: the number of their partitions.
    """

    before: int
    after: int
    topics: int
    partitions: int

    def to_tags(self) -> Mapping[int, bytes]:
        """Return the tagged fields of the request."""
        return {_TAG: _LAYOUT.pack(*self)}

    @classmethod
    def of(cls, request: UpdateMetadataRequest) -> UpdatePosition | None:
        """Return the position of a request, or None if it has none."""
        data = request.unknown_tags.get(_TAG, b"")
        return cls(*_LAYOUT.unpack(data)) if len(data) == _LAYOUT.size else None
