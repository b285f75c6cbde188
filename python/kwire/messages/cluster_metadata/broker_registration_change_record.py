"""BrokerRegistrationChangeRecord: a change of the registration of a broker (KIP-841)."""

from __future__ import annotations

from kwire.declare import Message, array, field, int8, int32, int64, nullable, uuid


class BrokerRegistrationChangeRecord(Message, record_type=17, versions="0-3", flexible="0+"):
    """The registration of a broker changes. Fields without a value do not change."""

    broker_id: int32
    """The `node.id` that the configuration has."""
    broker_epoch: int64
    """The offset of the record that registered this incarnation; -1 if unknown."""
    fenced: int8 = field(tag=0, default=0)
    """1 fenced; -1 unfenced; 0 no change."""
    in_controlled_shutdown: int8 = field(since=1, tag=1, default=0)
    """1 when a controlled shutdown starts; 0 no change."""
    log_dirs: array[uuid] = field(since=2, tag=2, default=())
    """The ids of the log directories that work (KIP-858); empty for no change."""
    cordoned_log_dirs: nullable[array[uuid]] = field(since=3, tag=3, default=None)
    """The ids of log directories that get no new replicas (KIP-1066); None for no change."""
