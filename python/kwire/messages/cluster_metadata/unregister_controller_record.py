"""UnregisterControllerRecord: the removal of a controller."""

from __future__ import annotations

from kwire.declare import Message, int32


class UnregisterControllerRecord(Message, record_type=29, versions="0", flexible="0+"):
    """A controller leaves the cluster for good."""

    controller_id: int32
    """The `node.id` that the configuration has."""
