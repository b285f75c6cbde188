# Written by `python -m scripts.stubs`.

from kwire.messages.consumer_offsets.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey as ConsumerGroupCurrentMemberAssignmentKey,
)
from kwire.messages.consumer_offsets.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentValue as ConsumerGroupCurrentMemberAssignmentValue,
)
from kwire.messages.consumer_offsets.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataKey as ConsumerGroupMemberMetadataKey,
)
from kwire.messages.consumer_offsets.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataValue as ConsumerGroupMemberMetadataValue,
)
from kwire.messages.consumer_offsets.consumer_group_metadata import ConsumerGroupMetadataKey as ConsumerGroupMetadataKey
from kwire.messages.consumer_offsets.consumer_group_metadata import (
    ConsumerGroupMetadataValue as ConsumerGroupMetadataValue,
)
from kwire.messages.consumer_offsets.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataKey as ConsumerGroupPartitionMetadataKey,
)
from kwire.messages.consumer_offsets.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataValue as ConsumerGroupPartitionMetadataValue,
)
from kwire.messages.consumer_offsets.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey as ConsumerGroupRegularExpressionKey,
)
from kwire.messages.consumer_offsets.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionValue as ConsumerGroupRegularExpressionValue,
)
from kwire.messages.consumer_offsets.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey as ConsumerGroupTargetAssignmentMemberKey,
)
from kwire.messages.consumer_offsets.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberValue as ConsumerGroupTargetAssignmentMemberValue,
)
from kwire.messages.consumer_offsets.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey as ConsumerGroupTargetAssignmentMetadataKey,
)
from kwire.messages.consumer_offsets.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataValue as ConsumerGroupTargetAssignmentMetadataValue,
)
from kwire.messages.consumer_offsets.group_metadata import GroupMetadataKey as GroupMetadataKey
from kwire.messages.consumer_offsets.group_metadata import GroupMetadataValue as GroupMetadataValue
from kwire.messages.consumer_offsets.legacy_offset_commit import LegacyOffsetCommitKey as LegacyOffsetCommitKey
from kwire.messages.consumer_offsets.legacy_offset_commit import LegacyOffsetCommitValue as LegacyOffsetCommitValue
from kwire.messages.consumer_offsets.offset_commit import OffsetCommitKey as OffsetCommitKey
from kwire.messages.consumer_offsets.offset_commit import OffsetCommitValue as OffsetCommitValue
from kwire.messages.consumer_offsets.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey as ShareGroupCurrentMemberAssignmentKey,
)
from kwire.messages.consumer_offsets.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentValue as ShareGroupCurrentMemberAssignmentValue,
)
from kwire.messages.consumer_offsets.share_group_member_metadata import (
    ShareGroupMemberMetadataKey as ShareGroupMemberMetadataKey,
)
from kwire.messages.consumer_offsets.share_group_member_metadata import (
    ShareGroupMemberMetadataValue as ShareGroupMemberMetadataValue,
)
from kwire.messages.consumer_offsets.share_group_metadata import ShareGroupMetadataKey as ShareGroupMetadataKey
from kwire.messages.consumer_offsets.share_group_metadata import ShareGroupMetadataValue as ShareGroupMetadataValue
from kwire.messages.consumer_offsets.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey as ShareGroupStatePartitionMetadataKey,
)
from kwire.messages.consumer_offsets.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataValue as ShareGroupStatePartitionMetadataValue,
)
from kwire.messages.consumer_offsets.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey as ShareGroupTargetAssignmentMemberKey,
)
from kwire.messages.consumer_offsets.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberValue as ShareGroupTargetAssignmentMemberValue,
)
from kwire.messages.consumer_offsets.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey as ShareGroupTargetAssignmentMetadataKey,
)
from kwire.messages.consumer_offsets.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataValue as ShareGroupTargetAssignmentMetadataValue,
)
from kwire.messages.consumer_offsets.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentKey as StreamsGroupCurrentMemberAssignmentKey,
)
from kwire.messages.consumer_offsets.streams_group_current_member_assignment import (
    StreamsGroupCurrentMemberAssignmentValue as StreamsGroupCurrentMemberAssignmentValue,
)
from kwire.messages.consumer_offsets.streams_group_member_metadata import (
    StreamsGroupMemberMetadataKey as StreamsGroupMemberMetadataKey,
)
from kwire.messages.consumer_offsets.streams_group_member_metadata import (
    StreamsGroupMemberMetadataValue as StreamsGroupMemberMetadataValue,
)
from kwire.messages.consumer_offsets.streams_group_metadata import StreamsGroupMetadataKey as StreamsGroupMetadataKey
from kwire.messages.consumer_offsets.streams_group_metadata import (
    StreamsGroupMetadataValue as StreamsGroupMetadataValue,
)
from kwire.messages.consumer_offsets.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberKey as StreamsGroupTargetAssignmentMemberKey,
)
from kwire.messages.consumer_offsets.streams_group_target_assignment_member import (
    StreamsGroupTargetAssignmentMemberValue as StreamsGroupTargetAssignmentMemberValue,
)
from kwire.messages.consumer_offsets.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataKey as StreamsGroupTargetAssignmentMetadataKey,
)
from kwire.messages.consumer_offsets.streams_group_target_assignment_metadata import (
    StreamsGroupTargetAssignmentMetadataValue as StreamsGroupTargetAssignmentMetadataValue,
)
from kwire.messages.consumer_offsets.streams_group_topology import StreamsGroupTopologyKey as StreamsGroupTopologyKey
from kwire.messages.consumer_offsets.streams_group_topology import (
    StreamsGroupTopologyValue as StreamsGroupTopologyValue,
)
