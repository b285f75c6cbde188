"""Error codes of the `kip4` dialect, including the KIP-584 draft.

Messages hold error codes as plain ints; `ErrorCode(n)` takes any number, as Kafka's does. The drafts define 1001 to
1009; kwire assigned 1010 to 1013, which the drafts leave open. Codes 29, 31, 35, 41, 42, and 96 are Kafka's, used by
ApiVersions, by UpdateFeatures, and to deny permission.
"""

from __future__ import annotations

from kwire.messages.coded_error import CodedError


class ErrorCode(CodedError):
    """An error code of the `kip4` dialect.

    `message` is a description for responses that do not have their own. `retriable` is true if the same request can
    succeed later; after 22 and 41, look up the controller first.
    """

    NO_ERROR = 0, "Success, or started."
    UNKNOWN_TOPIC_OR_PARTITION = 3, "The topic or partition does not exist.", True
    REQUEST_TIMED_OUT = 7, "The time given to the request was not enough; whether it took effect is unknown.", True
    STALE_CONTROLLER_EPOCH = 11, "The sender is no longer the controller."
    ADMIN_REQUEST_FAILED = 21, "Unexpected error occurred while processing Admin request."
    NOT_CONTROLLER_FOR_ADMIN_REQUEST = 22, "Target broker is not serving a controller's role.", True
    """KAFKA-1694 calls it InvalidRequestTarget."""
    TOPIC_AUTHORIZATION_FAILED = 29, "The client is not authorized to do this to the topic."
    CLUSTER_AUTHORIZATION_FAILED = 31, "The client is not authorized to do this to the cluster."
    UNSUPPORTED_VERSION = 35, "The broker does not support this version of the request."
    NOT_CONTROLLER = 41, "This broker is not the controller.", True
    INVALID_REQUEST = 42, "The request contradicts itself or the state of the cluster."
    FEATURE_UPDATE_FAILED = 96, "The finalized features could not be written and are unchanged."
    TOPIC_ALREADY_EXISTS = 1001, "A topic of that name exists."
    INVALID_ARGUMENT_PARTITIONS = 1002, "The number of partitions is missing or invalid."
    DECREASE_PARTITIONS_NOT_ALLOWED = 1003, "A topic cannot get fewer partitions than it has."
    """The text of the draft calls it IncreasePartitionsNotAllowed, its table as here."""
    INVALID_ARGUMENT_REPLICATION_FACTOR = 1004, "The replication factor is missing, below 1, or above the live brokers."
    INVALID_ARGUMENT_REPLICA_ASSIGNMENT = 1005, "The replica assignment is missing, incomplete, or contradicts itself."
    INVALID_ARGUMENT_TOPIC_CONFIG = 1006, "A config key of the topic is unknown or its value is invalid."
    PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS = 1007, "An election of preferred leaders is in progress."
    INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA = 1008, "Partitions are named twice or cannot be partitions."
    REASSIGN_PARTITIONS_IN_PROGRESS = 1009, "A reassignment of partitions is in progress."
    INVALID_ARGUMENT_TOPIC_NAME = 1010, "The name of the topic is empty, too long, reserved, or has other characters."
    MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC = 1011, "Strict batches allow one kind of change for each topic."
    MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH = 1012, "The batch names the topic more than once."
    FEATURE_UPDATE_IN_PROGRESS = 1013, "Another update of features is in progress.", True
    """The draft asks for "a suitable error" without defining it."""


def not_controller_text(broker_id: int) -> str:
    """Return the description of error 22, as worded in KIP-4."""
    return f"Target broker (id={broker_id}) is not serving a controller's role."
