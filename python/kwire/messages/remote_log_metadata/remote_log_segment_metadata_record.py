"""RemoteLogSegmentMetadataRecord: a log segment that is copied to remote storage (KIP-405)."""

from __future__ import annotations

from kwire.declare import Message, array, field, int8, int32, int64, nullable
from kwire.messages.remote_log_metadata.structures import RemoteLogSegmentIdEntry, SegmentLeaderEpochEntry


class RemoteLogSegmentMetadataRecord(Message, record_type=0, versions="0", flexible="0+"):
    """A segment is going to be copied."""

    remote_log_segment_id: RemoteLogSegmentIdEntry
    """The segment as the remote storage knows it."""
    start_offset: int64
    """The lowest offset in the file of the segment."""
    end_offset: int64
    """The last offset of the segment, inclusive."""
    broker_id: int32
    """The node id of the leader that copies it."""
    max_timestamp_ms: int64
    """The latest timestamp of its records in milliseconds since 1970."""
    event_timestamp_ms: int64
    """The time of the event in milliseconds since 1970."""
    segment_leader_epochs: array[SegmentLeaderEpochEntry]
    """The elections during which its records were written, ascending."""
    segment_size_in_bytes: int32
    """The size of the log file, without indexes."""
    custom_metadata: nullable[bytes] = None
    """Any data of the plug-in that stores segments; None if there is none."""
    remote_log_segment_state: int8
    """0 copy started; 1 copy finished; 2 delete started; 3 delete finished."""
    txn_index_empty: bool = field(tag=0, default=False)
    """True if no transaction was aborted, so that no index is stored."""
