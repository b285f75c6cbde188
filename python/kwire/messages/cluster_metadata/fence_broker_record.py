"""FenceBrokerRecord: the fencing of a broker (replaced by BrokerRegistrationChangeRecord)."""

from __future__ import annotations

from kwire.declare import Message, int32, int64


class FenceBrokerRecord(Message, record_type=7, versions="0", flexible="0+"):
    """A broker is fenced."""

    id: int32
    """The node id, which leaves all ISRs."""
    epoch: int64
    """The offset of the registration that is fenced."""
