"""`AdminBackend`: the operations that the handlers of admin requests need.

`controller.Controller` implements it for a cluster of kwire nodes. A gateway to a Kafka cluster can implement it as
well, since handlers depend on this interface only.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
    from kwire.messages.kip4.structures import TopicReassignment
    from kwire_cluster.controller.errors import CommandError
    from kwire_cluster.controller.feature_commands import FeatureUpdateOutcome
    from kwire_cluster.controller.feature_rules import FeatureChange
    from kwire_cluster.controller.topic_state import Topic

__all__ = ["AdminBackend", "Outcome", "TopicNames", "TopicReassignmentStatus", "ValidatingBackend"]


class Outcome(NamedTuple):
    """The outcome for one topic of a batch. `error` is None if the work was done or accepted."""

    topic: str
    error: CommandError | None = None


class TopicNames(NamedTuple):
    """The sorted names of the topics that are marked for deletion, and of all others."""

    marked_for_deletion: list[str]
    alive: list[str]


class TopicReassignmentStatus(NamedTuple):
    """The reassignment status of a topic's partitions.

    Attributes:
        topic: the name of the topic.
        statuses: by partition: 0 in progress, 1 completed, -1 neither.
        error: the reason why the status is unknown.
    """

    topic: str
    statuses: Mapping[int, int]
    error: CommandError | None = None


class AdminBackend(Protocol):
    """Operations on the topics of a cluster.

    What a method changes is in the audit with its author, the sender of the request, in the transaction of the change.

    With `validate_only`, a method returns the outcomes that it would have, and writes nothing.

    Batch methods return one outcome for each topic, in the order in which the request first names the topics. Every
    method may raise NotController or QueueFull for the whole request.
    """

    @property
    def broker_id(self) -> int:
        """The id of the broker that responds."""

    def check_active(self) -> None:
        """Raise NotController unless this broker is the controller."""

    async def create_topics(
        self, creations: Sequence[TopicCreation], client_id: str | None, *, author: str, validate_only: bool = False
    ) -> list[Outcome]:
        """Create topics.

        Outcomes have the codes 1001, 1002, 1004, 1005, 1006, 1010, and in strict batches 1012.

        Args:
            creations: the topics to create.
            client_id: the client id of the request. The client id `consumer` may create a topic by name only.
            author: the author in the audit.
        """

    async def alter_topics(
        self, alterations: Sequence[TopicAlteration], *, author: str, validate_only: bool = False
    ) -> list[Outcome]:
        """Change configs, add partitions, and reassign replicas.

        Outcomes have the codes 3, 1002 to 1006, 1009, and in strict batches 1011 and 1012.
        """

    async def delete_topics(self, names: Sequence[str], *, author: str, validate_only: bool = False) -> list[Outcome]:
        """Mark topics for deletion. Outcomes have the codes 3 and 1012."""

    async def describe_topic(self, name: str) -> Topic:
        """Return a topic.

        Raises:
            CommandError: code 3, the topic does not exist.
        """

    async def list_topics(self) -> TopicNames:
        """Return the names of all topics."""

    async def elect_preferred_leaders(
        self, topics: Sequence[TopicPartitions], *, author: str, validate_only: bool = False
    ) -> list[Outcome]:
        """Start the election of preferred leaders, for all topics if none are named.

        Outcomes have the codes 3, 1007, and 1008.

        Raises:
            CommandError: no topics are named, and the election was rejected.
        """

    async def reassign_partitions(
        self, topics: Sequence[TopicReassignment], *, author: str, validate_only: bool = False
    ) -> list[Outcome]:
        """Start a reassignment, or cancel the reassignments of partitions without replicas.

        Outcomes have the codes 3, 1005, and 1009.
        """

    async def verify_reassignments(self, topics: Sequence[TopicReassignment]) -> list[TopicReassignmentStatus]:
        """Compare partitions with their target replicas; without topics, list the ongoing reassignments.

        Statuses have the codes 3 and 1005.
        """

    async def update_features(
        self, changes: Sequence[FeatureChange], *, author: str, validate_only: bool = False
    ) -> FeatureUpdateOutcome:
        """Finalize, upgrade, downgrade, and delete features: all of them or none. Errors of features have code 42.

        Raises:
            CommandError: code 42, feature versioning is disabled; code 96, nothing could be written.
        """

    async def send_full_metadata(self, broker_id: int) -> None:
        """Send the full metadata to a broker, if it is alive."""

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
        """Move leadership away from a broker that is about to stop, and return the partitions that it still leads.

        Args:
            broker_id: the broker.
            broker_epoch: the broker epoch (czxid of its registration).

        Raises:
            CommandError: code 21, the broker is not alive or has another epoch.
        """


VALIDATING = frozenset(
    {
        "alter_topics",
        "create_topics",
        "delete_topics",
        "elect_preferred_leaders",
        "reassign_partitions",
        "update_features",
    }
)


class ValidatingBackend:
    """An `AdminBackend` that validates changes and makes none.

    Args:
        backend: the backend that knows the cluster.
    """

    def __init__(self, backend: AdminBackend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        return partial(method, validate_only=True) if name in VALIDATING else method
