# Written by `python -m scripts.stubs`.

from kwire.messages.remote_log_metadata.remote_log_segment_metadata_record import (
    RemoteLogSegmentMetadataRecord as RemoteLogSegmentMetadataRecord,
)
from kwire.messages.remote_log_metadata.remote_log_segment_metadata_snapshot_record import (
    RemoteLogSegmentMetadataSnapshotRecord as RemoteLogSegmentMetadataSnapshotRecord,
)
from kwire.messages.remote_log_metadata.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentMetadataUpdateRecord as RemoteLogSegmentMetadataUpdateRecord,
)
from kwire.messages.remote_log_metadata.remote_partition_delete_metadata_record import (
    RemotePartitionDeleteMetadataRecord as RemotePartitionDeleteMetadataRecord,
)
