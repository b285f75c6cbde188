"""RemoteLogSegmentMetadataUpdateRecord: a new state of a remote log segment (KIP-405)."""

from __future__ import annotations

from kwire.declare import Message, int8, int32, int64, nullable
from kwire.messages.remote_log_metadata.structures import RemoteLogSegmentIdEntry


class RemoteLogSegmentMetadataUpdateRecord(Message, record_type=1, versions="0", flexible="0+"):
    """The state of a segment changes."""

    remote_log_segment_id: RemoteLogSegmentIdEntry
    """The segment as the remote storage knows it."""
    broker_id: int32
    """The `node.id` that the configuration has."""
    event_timestamp_ms: int64
    """The time of the event in milliseconds since 1970."""
    custom_metadata: nullable[bytes] = None
    """Any data of the plug-in that stores segments; None if there is none."""
    remote_log_segment_state: int8
    """0 copy started; 1 copy finished; 2 delete started; 3 delete finished."""
