# Written by `python -m scripts.stubs`.

from kwire.messages.kip4.admin import AdminRequest as AdminRequest
from kwire.messages.kip4.admin import AdminResponse as AdminResponse
from kwire.messages.kip4.alter_topic import AlterTopicRequest as AlterTopicRequest
from kwire.messages.kip4.alter_topic import AlterTopicResponse as AlterTopicResponse
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2 as AlterTopicRequest_V2
from kwire.messages.kip4.alter_topic_v2 import AlterTopicResponse_V2 as AlterTopicResponse_V2
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest as ClusterMetadataRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse as ClusterMetadataResponse
from kwire.messages.kip4.create_topic import CreateTopicRequest as CreateTopicRequest
from kwire.messages.kip4.create_topic import CreateTopicResponse as CreateTopicResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2 as CreateTopicRequest_V2
from kwire.messages.kip4.create_topic_v2 import CreateTopicResponse_V2 as CreateTopicResponse_V2
from kwire.messages.kip4.delete_topic import DeleteTopicRequest as DeleteTopicRequest
from kwire.messages.kip4.delete_topic import DeleteTopicResponse as DeleteTopicResponse
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2 as DeleteTopicRequest_V2
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicResponse_V2 as DeleteTopicResponse_V2
from kwire.messages.kip4.describe_topic import DescribeTopicRequest as DescribeTopicRequest
from kwire.messages.kip4.describe_topic import DescribeTopicResponse as DescribeTopicResponse
from kwire.messages.kip4.list_topics import ListTopicsRequest as ListTopicsRequest
from kwire.messages.kip4.list_topics import ListTopicsResponse as ListTopicsResponse
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionRequest as PreferredReplicaLeaderElectionRequest,
)
from kwire.messages.kip4.preferred_replica_leader_election import (
    PreferredReplicaLeaderElectionResponse as PreferredReplicaLeaderElectionResponse,
)
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest as ReassignPartitionsRequest
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsResponse as ReassignPartitionsResponse
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest as TopicMetadataRequest
from kwire.messages.kip4.topic_metadata import TopicMetadataResponse as TopicMetadataResponse
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1 as TopicMetadataRequest_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1 as TopicMetadataResponse_V1
from kwire.messages.kip4.verify_reassign_partitions import (
    VerifyReassignPartitionsRequest as VerifyReassignPartitionsRequest,
)
from kwire.messages.kip4.verify_reassign_partitions import (
    VerifyReassignPartitionsResponse as VerifyReassignPartitionsResponse,
)
