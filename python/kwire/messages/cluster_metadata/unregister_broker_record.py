"""UnregisterBrokerRecord: the removal of a broker."""

from __future__ import annotations

from kwire.declare import Message, int32, int64


class UnregisterBrokerRecord(Message, record_type=1, versions="0", flexible="0+"):
    """A broker leaves the cluster for good."""

    broker_id: int32
    """The `node.id` that the configuration has."""
    broker_epoch: int64
    """The offset of the record that registered this incarnation; -1 if unknown."""
