"""The permission that a refused request lacks. Brokers report the kind of the resource, and not the operation.

The table follows the section "Authorization" of Kafka's documentation (the resources and operations of each API).
"""

from __future__ import annotations

from kwire.messages.kafka.error_codes import ErrorCode

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = (
    int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    int(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
)
RESOURCES = {
    TOPIC: "the topic",
    GROUP: "the group",
    CLUSTER: "the cluster",
    TRANSACTIONAL_ID: "the transactional id",
}

_READ_GROUP = {GROUP: "Read", TOPIC: "Read"}
_DESCRIBE_GROUP = {GROUP: "Describe", TOPIC: "Describe"}
_DELETE_GROUP = {GROUP: "Delete", TOPIC: "Read"}
_DESCRIBE_CLUSTER, _ALTER_CLUSTER = {CLUSTER: "Describe"}, {CLUSTER: "Alter"}

OPERATIONS: dict[str, dict[int, str]] = {
    "add_raft_voter": _ALTER_CLUSTER,
    "alter_client_quotas": {CLUSTER: "AlterConfigs"},
    "alter_configs": dict.fromkeys((TOPIC, GROUP, CLUSTER), "AlterConfigs"),
    "alter_partition_reassignments": _ALTER_CLUSTER,
    "alter_replica_log_dirs": _ALTER_CLUSTER,
    "alter_share_group_offsets": _READ_GROUP,
    "alter_user_scram_credentials": _ALTER_CLUSTER,
    "consumer_group_describe": _DESCRIBE_GROUP,
    "create_acls": _ALTER_CLUSTER,
    "create_partitions": {TOPIC: "Alter"},
    "create_topics": {TOPIC: "Create", CLUSTER: "Create"},
    "delete_acls": _ALTER_CLUSTER,
    "delete_groups": {GROUP: "Delete"},
    "delete_records": {TOPIC: "Delete"},
    "delete_share_group_offsets": _DELETE_GROUP,
    "delete_topics": {TOPIC: "Delete"},
    "describe_acls": _DESCRIBE_CLUSTER,
    "describe_client_quotas": {CLUSTER: "DescribeConfigs"},
    "describe_cluster": _ALTER_CLUSTER,  # controllers need it; brokers answer every user
    "describe_configs": dict.fromkeys((TOPIC, GROUP, CLUSTER), "DescribeConfigs"),
    "describe_groups": _DESCRIBE_GROUP,
    "describe_log_dirs": _DESCRIBE_CLUSTER,
    "describe_producers": {TOPIC: "Read"},
    "describe_quorum": _DESCRIBE_CLUSTER,
    "describe_share_group_offsets": _DESCRIBE_GROUP,
    "describe_topic_partitions": {TOPIC: "Describe"},
    "describe_transactions": {TRANSACTIONAL_ID: "Describe"},
    "describe_user_scram_credentials": _DESCRIBE_CLUSTER,
    "elect_leaders": _ALTER_CLUSTER,
    "fetch": {TOPIC: "Read", CLUSTER: "ClusterAction"},
    "find_coordinator": {GROUP: "Describe", TRANSACTIONAL_ID: "Describe"},
    "incremental_alter_configs": dict.fromkeys((TOPIC, GROUP, CLUSTER), "AlterConfigs"),
    "init_producer_id": {TRANSACTIONAL_ID: "Write", CLUSTER: "IdempotentWrite"},
    "list_config_resources": {CLUSTER: "DescribeConfigs"},
    "list_offsets": {TOPIC: "Describe"},
    "list_partition_reassignments": _DESCRIBE_CLUSTER,
    "metadata": {TOPIC: "Describe"},
    "offset_commit": _READ_GROUP,
    "offset_delete": _DELETE_GROUP,
    "offset_fetch": _DESCRIBE_GROUP,
    "offset_for_leader_epoch": {TOPIC: "Describe"},
    "produce": {TOPIC: "Write", CLUSTER: "IdempotentWrite", TRANSACTIONAL_ID: "Write"},
    "remove_raft_voter": _ALTER_CLUSTER,
    "share_group_describe": _DESCRIBE_GROUP,
    "streams_group_describe": _DESCRIBE_GROUP,
    "unregister_broker": _ALTER_CLUSTER,
    "unregister_controller": _ALTER_CLUSTER,
    "update_features": _ALTER_CLUSTER,
    "write_txn_markers": _ALTER_CLUSTER,
}
"""The operations by module of the message, and by error code."""


def cluster_operation(api: str) -> str | None:
    """Return the operation on the cluster that a request always needs, such as `Alter`; None if it needs none.

    Args:
        api: the name of the message's module, such as `create_acls`.
    """
    needed = OPERATIONS.get(api, {})
    return needed[CLUSTER] if needed.keys() == {CLUSTER} else None


def missing_permission(api: str, code: int) -> str | None:
    """Return the permission that a request lacks, such as `Describe on the topic`; None for another error.

    Args:
        api: the name of the message's module, such as `describe_configs`.
        code: the error code.
    """
    operation = OPERATIONS.get(api, {}).get(code)
    return None if operation is None else f"{operation} on {RESOURCES[code]}"
