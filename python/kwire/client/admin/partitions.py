"""Replicas and leaders of partitions: reassignments, elections, and eligible leaders.

Examples:
    >>> from kwire.client.admin import NewTopic
    >>> admin.create_topics({"moving": NewTopic(partitions=2)}).raise_first()
    >>> admin.wait_until_created({"moving": 2})
    >>> admin.reassign_partitions({"moving": {0: [1]}}).raise_first()
    >>> admin.wait_until_reassigned({"moving": {0: [1]}})
    >>> admin.list_reassignments()
    []
    >>> admin.elect_leaders({"moving": [0, 1]}).raise_first()
    >>> admin.wait_until_preferred({"moving": [0, 1]})
    >>> admin.reassign_partitions({"moving": {1: [7]}})["moving-1"].name
    'INVALID_REPLICA_ASSIGNMENT'
    >>> admin.delete_topics(["moving"]).raise_first()
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import completion
from kwire.client.admin.backend import strings_tuple
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.errors import NotSupported
from kwire.client.admin.values import Outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.backend import AdminSession, Targets
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.values import EligibleLeaders, ReassignmentStatus

PARTITIONS_PER_RESPONSE = 2000
"""Default number of partitions in a response of DescribeTopicPartitions, as in Kafka's Admin (KIP-966)."""


async def reassign_partitions(
    admin: AdminSession,
    targets: Targets,
    *,
    allow_replication_factor_change: bool = True,
    validate_only: bool = False,
) -> Outcomes:
    """Move partitions to other brokers.

    The outcomes are by partition on Kafka (`orders-3`), which answers for each of them, and by topic in the
    dialect of the drafts. Errors on Kafka: 3 unknown partition; 39 invalid target. In the dialect of the drafts:
    3; 1005 invalid target; 1009 a reassignment is in progress.

    Args:
        targets: the new replicas by topic and partition, the preferred leader first.
        allow_replication_factor_change: false if the cluster must refuse other numbers of replicas (KIP-860).
        validate_only: check the targets and move nothing. Kafka cannot do so, and then the client does.

    Raises:
        NotSupported: a cluster of the drafts' dialect cannot refuse them.
        EncodeError: Kafka before 4.1 cannot either.
    """
    return await admin.backend.reassign_partitions(
        targets, allow_replication_factor_change=allow_replication_factor_change, validate_only=validate_only
    )


async def cancel_reassignments(
    admin: AdminSession, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
) -> Outcomes:
    """Cancel reassignments. Errors: 85 no reassignment is in progress.

    Args:
        partitions: partitions by topic.
        validate_only: check that the partitions are moving, and cancel nothing.
    """
    return await admin.backend.cancel_reassignments(partitions, validate_only=validate_only)


async def list_reassignments(admin: AdminSession, targets: Targets | None = None) -> list[ReassignmentStatus]:
    """Return the status of reassignments.

    Args:
        targets: the reassignments, as for `reassign_partitions`; None for those in progress.
    """
    return await admin.backend.list_reassignments(targets)


async def elect_leaders(
    admin: AdminSession,
    partitions: Mapping[str, Sequence[int]] | None = None,
    *,
    unclean: bool = False,
    validate_only: bool = False,
) -> Outcomes:
    """Elect the preferred leaders of partitions.

    The outcomes are by partition, such as `orders-3`, and by topic for a topic that cannot be described. `unchanged`
    has the partitions that need no election; Kafka leaves them out of an election of all topics. Errors: 3 unknown
    partition; 80 the preferred leader is not available; 83 no replica can be elected; in the dialect of the drafts
    1007 an election is in progress, 1008 a partition is named twice.

    Args:
        partitions: partitions by topic, with an empty sequence for all partitions of a topic; None for all topics.
        unclean: elect any live replica of a partition without leader. Messages can be lost.
        validate_only: check which elections a replica can win, and elect none. Clusters cannot do so, so the client
            does.

    Raises:
        AdminError: a request for all topics was rejected.
        NotSupported: the cluster has no unclean elections.
    """
    if partitions is not None and not partitions:
        return Outcomes({})  # nodes would take an empty list for all topics
    if unclean and admin.dialect == "kip4":
        raise NotSupported("unclean leader election", "the drafts of KIP-4 elect preferred leaders only")
    if validate_only:
        from kwire.client.admin.election_checks import check_election
        from kwire.messages.kafka.elect_leaders import ElectLeadersRequest

        checked = await check_election(admin, partitions, unclean=unclean)
        return await check_outcomes(admin, ElectLeadersRequest, checked, whole=True)
    return await admin.backend.elect_leaders(partitions, unclean=unclean)


async def wait_until_reassigned(
    admin: AdminSession,
    targets: Mapping[str, Mapping[int, Sequence[int]]],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports the targets as replicas, all of them in sync."""
    conditions = {topic: completion.is_reassigned(partitions) for topic, partitions in targets.items()}
    await completion.wait_until(admin, "reassigned", conditions, timeout, on_progress)


async def wait_until_preferred(
    admin: AdminSession,
    partitions: Mapping[str, Sequence[int]] | None = None,
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until preferred replicas lead. See `elect_leaders` for `partitions`."""
    by_topic: Mapping[str, Sequence[int]] = partitions or dict.fromkeys(await admin.backend.list_topics(), ())
    conditions = {topic: completion.has_preferred_leaders(indexes) for topic, indexes in by_topic.items()}
    await completion.wait_until(admin, "led by the preferred replicas", conditions, timeout, on_progress)


async def describe_eligible_leaders(
    admin: AdminSession, topics: Iterable[str], *, partitions_per_response: int = PARTITIONS_PER_RESPONSE
) -> dict[str, dict[int, EligibleLeaders]]:
    """Return the eligible leader replicas (KIP-966) by topic and partition.

    A topic with an error is left out, and so are all topics of a cluster that does not report such replicas:
    Kafka before 3.7, clusters with ZooKeeper, and the drafts of KIP-4.

    Args:
        topics: names of topics.
        partitions_per_response: maximum number of partitions of a response; brokers have a limit of their own.
    """
    names = strings_tuple(topics)
    return await admin.backend.eligible_leaders(names, partitions_per_response) if names else {}
