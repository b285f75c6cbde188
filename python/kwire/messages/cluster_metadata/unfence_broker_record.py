"""UnfenceBrokerRecord: the unfencing of a broker (replaced by BrokerRegistrationChangeRecord)."""

from __future__ import annotations

from kwire.declare import Message, int32, int64


class UnfenceBrokerRecord(Message, record_type=8, versions="0", flexible="0+"):
    """A broker is unfenced."""

    id: int32
    """The node id, which may join ISRs again."""
    epoch: int64
    """The offset of the registration that is unfenced."""
