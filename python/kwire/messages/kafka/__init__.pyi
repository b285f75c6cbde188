# Written by `python -m kwire.messages.stubs`.

from kwire.messages.kafka.alter_client_quotas import AlterClientQuotasRequest as AlterClientQuotasRequest
from kwire.messages.kafka.alter_client_quotas import AlterClientQuotasResponse as AlterClientQuotasResponse
from kwire.messages.kafka.alter_configs import AlterConfigsRequest as AlterConfigsRequest
from kwire.messages.kafka.alter_configs import AlterConfigsResponse as AlterConfigsResponse
from kwire.messages.kafka.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest as AlterPartitionReassignmentsRequest,
)
from kwire.messages.kafka.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse as AlterPartitionReassignmentsResponse,
)
from kwire.messages.kafka.alter_replica_log_dirs import AlterReplicaLogDirsRequest as AlterReplicaLogDirsRequest
from kwire.messages.kafka.alter_replica_log_dirs import AlterReplicaLogDirsResponse as AlterReplicaLogDirsResponse
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest as AlterUserScramCredentialsRequest,
)
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse as AlterUserScramCredentialsResponse,
)
from kwire.messages.kafka.api_versions import ApiVersionsRequest as ApiVersionsRequest
from kwire.messages.kafka.api_versions import ApiVersionsResponse as ApiVersionsResponse
from kwire.messages.kafka.consumer_group_describe import ConsumerGroupDescribeRequest as ConsumerGroupDescribeRequest
from kwire.messages.kafka.consumer_group_describe import ConsumerGroupDescribeResponse as ConsumerGroupDescribeResponse
from kwire.messages.kafka.create_acls import CreateAclsRequest as CreateAclsRequest
from kwire.messages.kafka.create_acls import CreateAclsResponse as CreateAclsResponse
from kwire.messages.kafka.create_delegation_token import CreateDelegationTokenRequest as CreateDelegationTokenRequest
from kwire.messages.kafka.create_delegation_token import CreateDelegationTokenResponse as CreateDelegationTokenResponse
from kwire.messages.kafka.create_partitions import CreatePartitionsRequest as CreatePartitionsRequest
from kwire.messages.kafka.create_partitions import CreatePartitionsResponse as CreatePartitionsResponse
from kwire.messages.kafka.create_topics import CreateTopicsRequest as CreateTopicsRequest
from kwire.messages.kafka.create_topics import CreateTopicsResponse as CreateTopicsResponse
from kwire.messages.kafka.delete_acls import DeleteAclsRequest as DeleteAclsRequest
from kwire.messages.kafka.delete_acls import DeleteAclsResponse as DeleteAclsResponse
from kwire.messages.kafka.delete_groups import DeleteGroupsRequest as DeleteGroupsRequest
from kwire.messages.kafka.delete_groups import DeleteGroupsResponse as DeleteGroupsResponse
from kwire.messages.kafka.delete_records import DeleteRecordsRequest as DeleteRecordsRequest
from kwire.messages.kafka.delete_records import DeleteRecordsResponse as DeleteRecordsResponse
from kwire.messages.kafka.delete_topics import DeleteTopicsRequest as DeleteTopicsRequest
from kwire.messages.kafka.delete_topics import DeleteTopicsResponse as DeleteTopicsResponse
from kwire.messages.kafka.describe_acls import DescribeAclsRequest as DescribeAclsRequest
from kwire.messages.kafka.describe_acls import DescribeAclsResponse as DescribeAclsResponse
from kwire.messages.kafka.describe_client_quotas import DescribeClientQuotasRequest as DescribeClientQuotasRequest
from kwire.messages.kafka.describe_client_quotas import DescribeClientQuotasResponse as DescribeClientQuotasResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest as DescribeClusterRequest
from kwire.messages.kafka.describe_cluster import DescribeClusterResponse as DescribeClusterResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest as DescribeConfigsRequest
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse as DescribeConfigsResponse
from kwire.messages.kafka.describe_delegation_token import (
    DescribeDelegationTokenRequest as DescribeDelegationTokenRequest,
)
from kwire.messages.kafka.describe_delegation_token import (
    DescribeDelegationTokenResponse as DescribeDelegationTokenResponse,
)
from kwire.messages.kafka.describe_groups import DescribeGroupsRequest as DescribeGroupsRequest
from kwire.messages.kafka.describe_groups import DescribeGroupsResponse as DescribeGroupsResponse
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest as DescribeLogDirsRequest
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsResponse as DescribeLogDirsResponse
from kwire.messages.kafka.describe_producers import DescribeProducersRequest as DescribeProducersRequest
from kwire.messages.kafka.describe_producers import DescribeProducersResponse as DescribeProducersResponse
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest as DescribeQuorumRequest
from kwire.messages.kafka.describe_quorum import DescribeQuorumResponse as DescribeQuorumResponse
from kwire.messages.kafka.describe_topic_partitions import (
    DescribeTopicPartitionsRequest as DescribeTopicPartitionsRequest,
)
from kwire.messages.kafka.describe_topic_partitions import (
    DescribeTopicPartitionsResponse as DescribeTopicPartitionsResponse,
)
from kwire.messages.kafka.describe_transactions import DescribeTransactionsRequest as DescribeTransactionsRequest
from kwire.messages.kafka.describe_transactions import DescribeTransactionsResponse as DescribeTransactionsResponse
from kwire.messages.kafka.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest as DescribeUserScramCredentialsRequest,
)
from kwire.messages.kafka.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResponse as DescribeUserScramCredentialsResponse,
)
from kwire.messages.kafka.elect_leaders import ElectLeadersRequest as ElectLeadersRequest
from kwire.messages.kafka.elect_leaders import ElectLeadersResponse as ElectLeadersResponse
from kwire.messages.kafka.expire_delegation_token import ExpireDelegationTokenRequest as ExpireDelegationTokenRequest
from kwire.messages.kafka.expire_delegation_token import ExpireDelegationTokenResponse as ExpireDelegationTokenResponse
from kwire.messages.kafka.find_coordinator import FindCoordinatorRequest as FindCoordinatorRequest
from kwire.messages.kafka.find_coordinator import FindCoordinatorResponse as FindCoordinatorResponse
from kwire.messages.kafka.incremental_alter_configs import (
    IncrementalAlterConfigsRequest as IncrementalAlterConfigsRequest,
)
from kwire.messages.kafka.incremental_alter_configs import (
    IncrementalAlterConfigsResponse as IncrementalAlterConfigsResponse,
)
from kwire.messages.kafka.leader_and_isr import LeaderAndIsrRequest as LeaderAndIsrRequest
from kwire.messages.kafka.leader_and_isr import LeaderAndIsrResponse as LeaderAndIsrResponse
from kwire.messages.kafka.list_client_metrics_resources import (
    ListClientMetricsResourcesRequest as ListClientMetricsResourcesRequest,
)
from kwire.messages.kafka.list_client_metrics_resources import (
    ListClientMetricsResourcesResponse as ListClientMetricsResourcesResponse,
)
from kwire.messages.kafka.list_config_resources import ListConfigResourcesRequest as ListConfigResourcesRequest
from kwire.messages.kafka.list_config_resources import ListConfigResourcesResponse as ListConfigResourcesResponse
from kwire.messages.kafka.list_groups import ListGroupsRequest as ListGroupsRequest
from kwire.messages.kafka.list_groups import ListGroupsResponse as ListGroupsResponse
from kwire.messages.kafka.list_offsets import ListOffsetsRequest as ListOffsetsRequest
from kwire.messages.kafka.list_offsets import ListOffsetsResponse as ListOffsetsResponse
from kwire.messages.kafka.list_partition_reassignments import (
    ListPartitionReassignmentsRequest as ListPartitionReassignmentsRequest,
)
from kwire.messages.kafka.list_partition_reassignments import (
    ListPartitionReassignmentsResponse as ListPartitionReassignmentsResponse,
)
from kwire.messages.kafka.list_transactions import ListTransactionsRequest as ListTransactionsRequest
from kwire.messages.kafka.list_transactions import ListTransactionsResponse as ListTransactionsResponse
from kwire.messages.kafka.metadata import MetadataRequest as MetadataRequest
from kwire.messages.kafka.metadata import MetadataResponse as MetadataResponse
from kwire.messages.kafka.offset_commit import OffsetCommitRequest as OffsetCommitRequest
from kwire.messages.kafka.offset_commit import OffsetCommitResponse as OffsetCommitResponse
from kwire.messages.kafka.offset_delete import OffsetDeleteRequest as OffsetDeleteRequest
from kwire.messages.kafka.offset_delete import OffsetDeleteResponse as OffsetDeleteResponse
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest as OffsetFetchRequest
from kwire.messages.kafka.offset_fetch import OffsetFetchResponse as OffsetFetchResponse
from kwire.messages.kafka.renew_delegation_token import RenewDelegationTokenRequest as RenewDelegationTokenRequest
from kwire.messages.kafka.renew_delegation_token import RenewDelegationTokenResponse as RenewDelegationTokenResponse
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest as SaslAuthenticateRequest
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateResponse as SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest as SaslHandshakeRequest
from kwire.messages.kafka.sasl_handshake import SaslHandshakeResponse as SaslHandshakeResponse
from kwire.messages.kafka.stop_replica import StopReplicaRequest as StopReplicaRequest
from kwire.messages.kafka.stop_replica import StopReplicaResponse as StopReplicaResponse
from kwire.messages.kafka.unregister_broker import UnregisterBrokerRequest as UnregisterBrokerRequest
from kwire.messages.kafka.unregister_broker import UnregisterBrokerResponse as UnregisterBrokerResponse
from kwire.messages.kafka.update_features import UpdateFeaturesRequest as UpdateFeaturesRequest
from kwire.messages.kafka.update_features import UpdateFeaturesResponse as UpdateFeaturesResponse
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest as UpdateMetadataRequest
from kwire.messages.kafka.update_metadata import UpdateMetadataResponse as UpdateMetadataResponse
