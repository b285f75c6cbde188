"""The error codes of the KIP-4 dialect, KIP-584 as drafted included.

Rules of this file: the number is what travels, and a number that does not stand here is kept as it came, never an
error of the codec. 1001 to 1009 are the numbers of the drafts; 1010 to 1013 had none and were given these (decision
D4). Codes 31, 35, 41, 42 and 96 are Kafka's own, used by ApiVersions and UpdateFeatures.
"""

from __future__ import annotations

from kwire.messages.coded_error import CodedError


class ErrorCode(CodedError):
    """What an answer says went wrong, as a number, a sentence, and whether trying again can help.

    ``text``: one sentence for a person, where a message has no description of its own. ``retriable``: the same
    request can succeed soon though nobody repairs anything; for 22 and 41 after the controller was looked up again.
    """

    NO_ERROR = 0, "It worked, or was started."
    UNKNOWN_TOPIC_OR_PARTITION = 3, "There is no such topic or partition.", True
    REQUEST_TIMED_OUT = 7, "The time given to the request was not enough; whether it took effect is unknown.", True
    STALE_CONTROLLER_EPOCH = 11, "The sender is not the controller, or not any more."
    ADMIN_REQUEST_FAILED = 21, "Unexpected error occurred while processing Admin request."
    NOT_CONTROLLER_FOR_ADMIN_REQUEST = 22, "Target broker is not serving a controller's role.", True
    """KAFKA-1694 calls it InvalidRequestTarget."""
    CLUSTER_AUTHORIZATION_FAILED = 31, "The caller may not alter the cluster."
    UNSUPPORTED_VERSION = 35, "The broker does not know this version of the request."
    NOT_CONTROLLER = 41, "This broker is not the controller.", True
    INVALID_REQUEST = 42, "The request contradicts itself or the state of the cluster."
    FEATURE_UPDATE_FAILED = 96, "The finalized features could not be written, and are as they were."
    TOPIC_ALREADY_EXISTS = 1001, "A topic of that name exists."
    INVALID_ARGUMENT_PARTITIONS = 1002, "The number of partitions is missing or not a number that a topic can have."
    DECREASE_PARTITIONS_NOT_ALLOWED = 1003, "A topic cannot get fewer partitions than it has."
    """The prose of the draft calls it IncreasePartitionsNotAllowed, its table as here (decision D25)."""
    INVALID_ARGUMENT_REPLICATION_FACTOR = 1004, "The replication factor is missing, below 1, or above the live brokers."
    INVALID_ARGUMENT_REPLICA_ASSIGNMENT = 1005, "The replica assignment is missing, incomplete, or contradicts itself."
    INVALID_ARGUMENT_TOPIC_CONFIG = 1006, "A setting of the topic has no such key, or a value that the key cannot have."
    PREFERRED_REPLICA_LEADER_ELECTION_IN_PROGRESS = 1007, "An election of preferred leaders is running."
    INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA = 1008, "Partitions are named twice or cannot be partitions."
    REASSIGN_PARTITIONS_IN_PROGRESS = 1009, "A reassignment of partitions is running, which may take long."
    INVALID_ARGUMENT_TOPIC_NAME = 1010, "The name of the topic is empty, too long, reserved, or has other characters."
    MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC = 1011, "Strict batches allow one kind of change a topic."
    MULTIPLE_TOPIC_INSTRUCTIONS_IN_ONE_BATCH = 1012, "The batch names the topic more than once."
    FEATURE_UPDATE_IN_PROGRESS = 1013, "Another update of features is being written.", True
    """The draft asks for "a suitable error" and has none (decision D23)."""


def not_controller_text(broker_id: int) -> str:
    """The description that goes with code 22, as KIP-4 words it."""
    return f"Target broker (id={broker_id}) is not serving a controller's role."
