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
from kwire.client.admin.answer import error_code
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import ANY, CONTROLLER
from kwire.client.admin.topic_descriptions import describe, read_metadata
from kwire.client.admin.values import (
    EligibleLeaders,
    Outcomes,
    PartitionMove,
    ReassignmentState,
    ReassignmentStatus,
    TopicDescription,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.session import AdminSession, Targets
    from kwire.client.admin.values import PartitionDescription


PREFERRED, UNCLEAN = 0, 1
"""Types of elections (KIP-460)."""
GROWTH = 1_000
"""Partitions that a topic may get while its partitions are described page by page. Chosen, so that the pages end."""
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
    if admin.dialect == "kip4":
        if not allow_replication_factor_change:
            raise NotSupported("a fixed replication factor", "the drafts of KIP-4 have no field for it")
        from kwire.client.admin import kip4_topics

        return await kip4_topics.reassign_partitions(admin, targets, validate_only=validate_only)
    if validate_only:
        from kwire.client.admin.reassignment_checks import check_targets
        from kwire.messages.kafka.alter_partition_reassignments import AlterPartitionReassignmentsRequest

        checked = await check_targets(admin, targets)
        return await check_outcomes(admin, AlterPartitionReassignmentsRequest, checked, whole=True)
    return await _alter_reassignments(
        admin,
        {topic: {index: tuple(ids) for index, ids in assignment.items()} for topic, assignment in targets.items()},
        repeatable=True,
        allow_replication_factor_change=allow_replication_factor_change,
    )


async def _alter_reassignments(
    admin: AdminSession,
    targets: Mapping[str, Mapping[int, tuple[int, ...] | None]],
    *,
    repeatable: bool,
    allow_replication_factor_change: bool = True,
) -> Outcomes:
    from kwire.messages.kafka.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
        ReassignableTopic,
    )

    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=allow_replication_factor_change,
        topics=tuple(
            ReassignableTopic(
                name=topic,
                partitions=tuple(
                    ReassignablePartition(partition_index=index, replicas=ids)
                    for index, ids in sorted(partitions.items())
                ),
            )
            for topic, partitions in targets.items()
        ),
        timeout_ms=admin.router.timeout_ms,
    )
    answer = await admin.router.command(request, CONTROLLER, error_code, repeatable=repeatable)
    response = answer.accepted()
    results = (
        (f"{topic.name}-{partition.partition_index}", partition)
        for topic in response.responses
        for partition in topic.partitions
    )
    return answer.outcomes(results, (f"{topic}-{index}" for topic, indexes in targets.items() for index in indexes))


async def cancel_reassignments(
    admin: AdminSession, partitions: Mapping[str, Sequence[int]], *, validate_only: bool = False
) -> Outcomes:
    """Cancel reassignments. Errors: 85 no reassignment is in progress.

    Args:
        partitions: partitions by topic.
        validate_only: check that the partitions are moving, and cancel nothing.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        # An empty list of replicas cancels the reassignment of a partition.
        canceled = {topic: dict.fromkeys(ids, ()) for topic, ids in partitions.items()}
        return await kip4_topics.reassign_partitions(admin, canceled, validate_only=validate_only)
    if validate_only:
        from kwire.client.admin.reassignment_checks import check_cancellations
        from kwire.messages.kafka.alter_partition_reassignments import AlterPartitionReassignmentsRequest

        checked = await check_cancellations(admin, partitions, await list_reassignments(admin))
        return await check_outcomes(admin, AlterPartitionReassignmentsRequest, checked, whole=True)
    targets = {topic: dict.fromkeys(ids) for topic, ids in partitions.items()}
    return await _alter_reassignments(admin, targets, repeatable=False)


async def list_reassignments(admin: AdminSession, targets: Targets | None = None) -> list[ReassignmentStatus]:
    """Return the status of reassignments.

    Args:
        targets: the reassignments, as for `reassign_partitions`; None for those in progress.
    """
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.list_reassignments(admin, targets)
    from kwire.messages.kafka.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsTopics,
    )

    request = ListPartitionReassignmentsRequest(
        timeout_ms=admin.router.timeout_ms,
        topics=None
        if not targets
        else tuple(
            ListPartitionReassignmentsTopics(name=topic, partition_indexes=tuple(partitions))
            for topic, partitions in targets.items()
        ),
    )
    answer = await admin.router.read(request, CONTROLLER, error_code)
    response = answer.accepted()
    moves = {
        topic.name: {
            partition.partition_index: PartitionMove(
                partition.replicas, partition.adding_replicas, partition.removing_replicas
            )
            for partition in topic.partitions
        }
        for topic in response.topics
    }
    if not targets:
        return [
            ReassignmentStatus(topic, dict.fromkeys(partitions, ReassignmentState.MOVING), None, partitions)
            for topic, partitions in moves.items()
        ]
    topics = await describe(admin, tuple(targets))
    return [_status(topic, targets[topic], topics.get(topic), moves.get(topic, {})) for topic in targets]


def _status(
    topic: str,
    targets: Mapping[int, Sequence[int]],
    described: TopicDescription | AdminError | None,
    moves: Mapping[int, PartitionMove],
) -> ReassignmentStatus:
    """Return the status of partitions by what is being moved and what their replicas are."""
    if not isinstance(described, TopicDescription):
        error = described or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic)
        return ReassignmentStatus(topic, {}, error)
    replicas = {partition.partition: partition.replicas for partition in described.partitions}

    def state(index: int) -> ReassignmentState:
        if index in moves:
            return ReassignmentState.MOVING
        done = replicas.get(index) == tuple(targets[index])
        return ReassignmentState.COMPLETED if done else ReassignmentState.FAILED

    return ReassignmentStatus(topic, {index: state(index) for index in targets}, None, moves)


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
    if validate_only or admin.dialect == "kip4":
        checked = await _check_election(admin, partitions, unclean=unclean)
        if validate_only:
            from kwire.messages.kafka.elect_leaders import ElectLeadersRequest

            return await check_outcomes(admin, ElectLeadersRequest, checked, whole=True)
        from kwire.client.admin import kip4_topics

        return await kip4_topics.elect_leaders(admin, partitions, checked)
    return await _elect_leaders(admin, partitions, unclean=unclean)


async def _elect_leaders(
    admin: AdminSession, partitions: Mapping[str, Sequence[int]] | None, *, unclean: bool
) -> Outcomes:
    """Let Kafka elect leaders. A request names partitions, so that those of whole topics are looked up."""
    from kwire.messages.kafka.elect_leaders import ElectLeadersRequest, TopicPartitions

    elected: tuple[TopicPartitions, ...] | None = None
    unknown: dict[str, AdminError | None] = {}
    if partitions is not None:
        whole = tuple(topic for topic, ids in partitions.items() if not ids)
        described = await describe(admin, whole) if whole else {}
        unknown = {name: topic for name, topic in described.items() if isinstance(topic, AdminError)}
        indexes = {
            name: tuple(partition.partition for partition in topic.partitions)
            for name, topic in described.items()
            if isinstance(topic, TopicDescription)
        }
        elected = tuple(
            TopicPartitions(topic=topic, partitions=tuple(ids) or indexes[topic])
            for topic, ids in partitions.items()
            if topic not in unknown
        )
        if not elected:
            return Outcomes(unknown)
    request = ElectLeadersRequest(
        election_type=UNCLEAN if unclean else PREFERRED, topic_partitions=elected, timeout_ms=admin.router.timeout_ms
    )
    answer = await admin.router.command(request, CONTROLLER, error_code, repeatable=not unclean)
    response = answer.accepted()
    outcomes = answer.outcomes(
        (f"{topic.topic}-{result.partition_id}", result)
        for topic in response.replica_election_results
        for result in topic.partition_result
    )
    unneeded = {item for item, error in outcomes.errors.items() if error.code == ErrorCode.ELECTION_NOT_NEEDED}
    elections = {item: None if item in unneeded else error for item, error in outcomes.items()}
    return Outcomes({**elections, **unknown}, answer.attempts, unchanged=unneeded)


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
    by_topic: Mapping[str, Sequence[int]] = partitions or dict.fromkeys(await describe(admin, ()), ())
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
    requested = strings_tuple(topics)
    if not requested or admin.dialect == "kip4":
        return {}
    from kwire.messages.kafka.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest

    names = tuple(TopicRequest(name=name) for name in sorted(requested))
    leaders: dict[str, dict[int, EligibleLeaders]] = {}
    request = DescribeTopicPartitionsRequest(topics=names, response_partition_limit=partitions_per_response)
    position = ("", -1)
    counts: dict[str, int] | None = None
    while True:
        try:
            response = (await admin.router.read(request, ANY)).response
        except NoCommonVersion:
            return {}
        for topic in response.topics:
            if topic.name is not None and not topic.error_code:
                leaders.setdefault(topic.name, {}).update(
                    (
                        partition.partition_index,
                        EligibleLeaders(_ids(partition.eligible_leader_replicas), _ids(partition.last_known_elr)),
                    )
                    for partition in topic.partitions
                )
        following = response.next_cursor
        if following is None:
            return leaders
        if counts is None:
            counts = await _partition_counts(admin, requested)
        # The broker decides how many pages there are. They end, because each begins after the one before (brokers
        # order topics by name, and partitions by index), inside of a requested topic as Metadata describes it.
        before, position = position, (following.topic_name, following.partition_index)
        if position <= before or following.partition_index >= counts.get(following.topic_name, 0) + GROWTH:
            text = f"its pages do not end: one at {before[0]}-{before[1]} leads to {position[0]}-{position[1]}"
            raise AdminError.of_kafka(ErrorCode.UNKNOWN_SERVER_ERROR, "DescribeTopicPartitions", text)
        rest = tuple(name for name in names if name.name >= following.topic_name)
        request = DescribeTopicPartitionsRequest(
            topics=rest, response_partition_limit=partitions_per_response, cursor=following
        )


async def _partition_counts(admin: AdminSession, topics: tuple[str, ...]) -> dict[str, int]:
    """Return the numbers of partitions of topics, without a request if they were described lately."""
    cache = admin.router.metadata
    if any(cache.topic(name) is None for name in topics):
        await read_metadata(admin.router, topics)  # updates the cache
    described = {name: cache.topic(name) for name in topics}
    return {name: len(topic.partitions) for name, topic in described.items() if topic is not None}


def _ids(replicas: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if replicas is None else tuple(replicas)


async def _check_election(admin: AdminSession, named: Mapping[str, Sequence[int]] | None, *, unclean: bool) -> Outcomes:
    """Return the errors that an election of partitions would have. See `elect_leaders` for the arguments.

    Neither Kafka nor the drafts can validate an election without holding it. Nodes of the drafts answer by topic, and
    report nothing of an election that no replica can win, so their outcomes by partition are these checks as well.
    """
    checked: dict[str, AdminError | None] = {}
    unchanged: set[str] = set()
    live = {broker.id for broker in (await admin.router.describe_cluster()).brokers}
    for name, topic in (await describe(admin, tuple(named or ()))).items():
        if not isinstance(topic, TopicDescription):
            items = [f"{name}-{index}" for index in (named and named[name]) or ()] or [name]
            error = topic
            if admin.dialect == "kafka" and topic.code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                # An election looks up the name, and does not ask whether a topic could have it.
                error = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
            checked |= {item: AdminError(error.code, error.name, item, error.text, needs=error.needs) for item in items}
            continue
        by_index = {partition.partition: partition for partition in topic.partitions}
        for index in (named and named[name]) or by_index:
            item = f"{name}-{index}"
            partition = by_index.get(index)
            if partition is None:
                checked[item] = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, item)
            elif partition.leader is not None if unclean else partition.replicas[:1] == (partition.leader,):
                checked[item] = None
                unchanged.add(item)
            else:
                checked[item] = _election_refusal(item, partition, live, unclean=unclean)
    return Outcomes(checked, unchanged=unchanged)


def _election_refusal(
    item: str, partition: PartitionDescription, live: Collection[int], *, unclean: bool
) -> AdminError | None:
    """Return the error of an election that no replica can win; None if one can.

    The last replica in sync stays in the ISR when its broker stops.

    Args:
        item: the subject of the error.
        partition: the partition, which does not have the requested leader.
        live: the ids of the live brokers.
        unclean: true if any live replica may become the leader; false if only the preferred one in sync may.
    """
    if unclean:
        eligible, code = set(partition.replicas), ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        eligible -= set(partition.offline_replicas or ())
    else:
        eligible, code = set(partition.replicas[:1]) & set(partition.isr), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    return None if eligible.intersection(live) else AdminError.of_kafka(code, item)
