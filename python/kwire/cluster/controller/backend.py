"""``AdminBackend``: who carries out what handlers were asked for. A handler never knows which implementation it has.

Rules of this file: the interface and its results. The standalone implementation is ``controller.Controller``; one that
stands before a real Kafka can take its place. Every method may raise NotController or QueueFull for the whole request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.cluster.controller.errors import AdminError
    from kwire.cluster.controller.state import Topic
    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
    from kwire.messages.kip4.structures import TopicReassignment

__all__ = ["AdminBackend", "Outcome", "TopicMoves", "TopicNames"]


class Outcome(NamedTuple):
    """What became of one topic of a batch. ``refusal``: None when the work was done or begun."""

    topic: str
    refusal: AdminError | None = None


class TopicNames(NamedTuple):
    """All topics, sorted: those to be deleted, and the others."""

    marked: list[str]
    alive: list[str]


class TopicMoves(NamedTuple):
    """How far partitions of a topic are: 0 moving, 1 arrived, -1 neither; or why that cannot be told."""

    topic: str
    statuses: Mapping[int, int]
    refusal: AdminError | None = None


class AdminBackend(Protocol):
    """Outcomes are in the order in which the request first named their topics, one for each."""

    @property
    def broker_id(self) -> int:
        """Of the broker that answers."""

    def check_active(self) -> None:
        """Errors: NotController."""

    async def create_topics(self, creations: Sequence[TopicCreation], client_id: str | None) -> list[Outcome]:
        """``client_id``: a consumer needs to give no more than a name.

        Errors of a topic: 1001, 1002, 1004, 1005, 1006, 1010; 1012 in strict batches.
        """

    async def alter_topics(self, alterations: Sequence[TopicAlteration]) -> list[Outcome]:
        """Errors of a topic: 3, 1002 to 1006, 1009; 1011 and 1012 in strict batches."""

    async def delete_topics(self, names: Sequence[str]) -> list[Outcome]:
        """Errors of a topic: 3, 1012."""

    async def describe_topic(self, name: str) -> Topic:
        """As the controller knows it. Errors: AdminError 3."""

    async def topic_names(self) -> TopicNames:
        """Of all topics."""

    async def elect_preferred(self, topics: Sequence[TopicPartitions]) -> list[Outcome]:
        """Of all topics when none are named. Errors of a topic: 3, 1007, 1008. Errors of all: AdminError."""

    async def reassign(self, topics: Sequence[TopicReassignment]) -> list[Outcome]:
        """Errors of a topic: 3, 1005, 1009."""

    async def moves(self, topics: Sequence[TopicReassignment]) -> list[TopicMoves]:
        """Of what moves now when no topics are named. Errors of a topic: 3, 1005."""

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
        """Take leadership from a broker that is to stop; the result is what it leads nevertheless.

        ``broker_epoch``: of its registration (czxid), -1 for any. Errors: AdminError 21 when that is not its life.
        """
