"""Eligible leader replicas of partitions (KIP-966): replicas outside of the ISR that have every committed record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin.cluster_router import ANY
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.protocol.negotiated_versions import Dialect

__all__ = ["EligibleLeaderOperations", "EligibleLeaders"]


class EligibleLeaders(NamedTuple):
    """The replicas that can lead a partition besides its ISR, and those that could last; None if unknown."""

    eligible: tuple[int, ...] | None
    last_known: tuple[int, ...] | None


class EligibleLeaderOperations:
    """Operations on eligible leader replicas."""

    dialect: Dialect
    _router: ClusterRouter

    async def describe_eligible_leaders(self, topics: Iterable[str]) -> dict[str, dict[int, EligibleLeaders]]:
        """Return the eligible leader replicas by topic and partition.

        A topic with an error is left out, and so are all topics of a cluster that does not report such replicas:
        Kafka before 3.7, clusters with ZooKeeper, and the drafts of KIP-4.
        """
        from kwire.messages.kafka.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest

        found: dict[str, dict[int, EligibleLeaders]] = {}
        wanted = tuple(TopicRequest(name=name) for name in sorted(topics))
        if self.dialect == "kip4" or not wanted:
            return found
        request = DescribeTopicPartitionsRequest(topics=wanted)
        while True:
            try:
                response = (await self._router.read(request, ANY)).response
            except NoCommonVersion:
                return {}
            for topic in response.topics:
                if topic.name is not None and not topic.error_code:
                    found.setdefault(topic.name, {}).update(
                        (
                            each.partition_index,
                            EligibleLeaders(_ids(each.eligible_leader_replicas), _ids(each.last_known_elr)),
                        )
                        for each in topic.partitions
                    )
            if response.next_cursor is None:
                return found
            rest = tuple(each for each in wanted if each.name >= response.next_cursor.topic_name)
            request = DescribeTopicPartitionsRequest(topics=rest, cursor=response.next_cursor)


def _ids(replicas: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if replicas is None else tuple(replicas)
