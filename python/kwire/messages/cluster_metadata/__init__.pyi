# Written by `python -m scripts.stubs`.

from kwire.messages.cluster_metadata.abort_transaction_record import AbortTransactionRecord as AbortTransactionRecord
from kwire.messages.cluster_metadata.access_control_entry_record import (
    AccessControlEntryRecord as AccessControlEntryRecord,
)
from kwire.messages.cluster_metadata.begin_transaction_record import BeginTransactionRecord as BeginTransactionRecord
from kwire.messages.cluster_metadata.broker_registration_change_record import (
    BrokerRegistrationChangeRecord as BrokerRegistrationChangeRecord,
)
from kwire.messages.cluster_metadata.clear_elr_record import ClearElrRecord as ClearElrRecord
from kwire.messages.cluster_metadata.client_quota_record import ClientQuotaRecord as ClientQuotaRecord
from kwire.messages.cluster_metadata.config_record import ConfigRecord as ConfigRecord
from kwire.messages.cluster_metadata.delegation_token_record import DelegationTokenRecord as DelegationTokenRecord
from kwire.messages.cluster_metadata.end_transaction_record import EndTransactionRecord as EndTransactionRecord
from kwire.messages.cluster_metadata.feature_level_record import FeatureLevelRecord as FeatureLevelRecord
from kwire.messages.cluster_metadata.fence_broker_record import FenceBrokerRecord as FenceBrokerRecord
from kwire.messages.cluster_metadata.no_op_record import NoOpRecord as NoOpRecord
from kwire.messages.cluster_metadata.partition_change_record import PartitionChangeRecord as PartitionChangeRecord
from kwire.messages.cluster_metadata.partition_record import PartitionRecord as PartitionRecord
from kwire.messages.cluster_metadata.producer_ids_record import ProducerIdsRecord as ProducerIdsRecord
from kwire.messages.cluster_metadata.register_broker_record import RegisterBrokerRecord as RegisterBrokerRecord
from kwire.messages.cluster_metadata.register_controller_record import (
    RegisterControllerRecord as RegisterControllerRecord,
)
from kwire.messages.cluster_metadata.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord as RemoveAccessControlEntryRecord,
)
from kwire.messages.cluster_metadata.remove_delegation_token_record import (
    RemoveDelegationTokenRecord as RemoveDelegationTokenRecord,
)
from kwire.messages.cluster_metadata.remove_topic_record import RemoveTopicRecord as RemoveTopicRecord
from kwire.messages.cluster_metadata.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord as RemoveUserScramCredentialRecord,
)
from kwire.messages.cluster_metadata.topic_record import TopicRecord as TopicRecord
from kwire.messages.cluster_metadata.unfence_broker_record import UnfenceBrokerRecord as UnfenceBrokerRecord
from kwire.messages.cluster_metadata.unregister_broker_record import UnregisterBrokerRecord as UnregisterBrokerRecord
from kwire.messages.cluster_metadata.unregister_controller_record import (
    UnregisterControllerRecord as UnregisterControllerRecord,
)
from kwire.messages.cluster_metadata.user_scram_credential_record import (
    UserScramCredentialRecord as UserScramCredentialRecord,
)
from kwire.messages.cluster_metadata.zk_migration_state_record import ZkMigrationStateRecord as ZkMigrationStateRecord
