"""Groups of all types: list, describe, and delete them; their committed offsets, without joining.

Every broker lists the groups that it coordinates. Requests for a group go to its coordinator; groups with the same
coordinator share a request where the protocol allows it.

Examples:
    >>> from kwire.client.admin import NewTopic, TopicPartition
    >>> admin.create_topics({"payments": NewTopic(partitions=1)}).raise_first()
    >>> admin.wait_until_created({"payments": 1})
    >>> partition = TopicPartition("payments", 0)
    >>> admin.alter_group_offsets("billing", {partition: 0}).raise_first()
    >>> [(group.group_id, group.state) for group in admin.list_groups() if group.group_id == "billing"]
    [('billing', 'Empty')]
    >>> admin.list_group_offsets(["billing"])["billing"][partition].offset
    0
    >>> admin.describe_groups(["biling"])["biling"].name
    'GROUP_ID_NOT_FOUND'
    >>> admin.delete_groups(["billing"]).raise_first()
    >>> admin.delete_topics(["payments"]).raise_first()
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from kwire._util.readable import counted
from kwire.client.admin.answer import result_error
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.coordinators import MOVED, at_coordinator, at_coordinators, of_coordinators
from kwire.client.admin.errors import AdminError, OutcomeUnknown
from kwire.client.admin.every_broker import at_every_broker
from kwire.client.admin.group_values import GroupListing, GroupType, TopicPartition
from kwire.client.admin.internal_topics import groups_without_coordinator
from kwire.client.admin.leaders import by_topic
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import ANY
from kwire.client.admin.topics import describe_topics
from kwire.client.admin.values import Outcomes, TopicDescription
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.coordinators import Result
    from kwire.client.admin.group_responses import DescribeQuery
    from kwire.client.admin.group_values import CommittedOffset, GroupDescription
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import BrokerTarget
    from kwire.messages.kafka.offset_fetch import OffsetFetchRequest

    Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]

INACTIVE = ("Empty", "Dead")
"""The states of a group without members, of any type."""

T = TypeVar("T")
GROUPS_SINCE = 8
"""The version of OffsetFetch from which on a request has several groups (KIP-709, Kafka 3.0)."""
NAMES_UNTIL = 9
"""The last version of OffsetFetch and OffsetCommit with names of topics; later ones have ids (KIP-848)."""


async def list_groups(
    admin: AdminSession,
    *,
    types: Iterable[GroupType] = (),
    states: Iterable[str] = (),
    unanswered: dict[int, Exception] | None = None,
) -> list[GroupListing]:
    """Return all groups, sorted by id.

    A group that several brokers list, while its coordinator moves, is as its coordinator lists it. The groups of a
    partition of `__consumer_offsets` without a leader are missing: no broker knows them.

    Args:
        types: only groups of these types.
        states: only groups in these states, such as `Stable`.
        unanswered: receives the errors of brokers that do not answer, and whose groups are therefore missing; None to
            raise them.

    Raises:
        AdminError: a broker cannot list its groups.
        ConnectionFault: a broker does not answer; with `unanswered`, no broker does.
    """
    from kwire.messages.kafka.list_groups import ListGroupsRequest

    wanted_types, wanted_states = set(types), {state.lower() for state in strings_tuple(states)}
    listed: dict[str, dict[int, GroupListing]] = defaultdict(dict)
    answers = await at_every_broker(admin.router, ListGroupsRequest(), unanswered=unanswered)
    for broker, answer in answers.items():
        for group in answer.accepted(f"broker {broker}").groups:
            kind = GroupType.of(group.group_type)
            listing = GroupListing(group.group_id, kind, group.group_state or None, group.protocol_type, broker)
            listed[group.group_id][broker] = listing
    return sorted(
        (
            group
            for group in (await of_coordinators(admin.router, listed)).values()
            if (not wanted_types or group.type in wanted_types)
            and (not wanted_states or (group.state or "").lower() in wanted_states)
        ),
        key=lambda group: group.group_id,
    )


async def describe_groups(admin: AdminSession, group_ids: Iterable[str]) -> dict[str, GroupDescription | AdminError]:
    """Return groups of any type with their members.

    Errors of a group: 15 no broker coordinates it at the moment, so that it is not known whether it exists; 30 the user
    cannot describe it, so that no list has it; 69 unknown group.
    """
    requested = strings_tuple(group_ids)
    unanswered: dict[int, Exception] = {}
    types = {group.group_id: group.type for group in await list_groups(admin, unanswered=unanswered)}
    return await describe_listed(admin, requested, types, unanswered)


async def describe_listed(
    admin: AdminSession, requested: Sequence[str], types: Mapping[str, GroupType], unanswered: Collection[int]
) -> dict[str, GroupDescription | AdminError]:
    """Return groups, whose types a list of all groups has reported.

    Args:
        requested: the ids of the groups.
        types: the types of the listed groups.
        unanswered: the brokers whose groups the list lacks.
    """
    from kwire.client.admin.group_responses import DESCRIBE_QUERIES

    by_type: dict[GroupType, list[str]] = defaultdict(list)
    for group in requested:
        if group in types:
            by_type[types[group]].append(group)
    described: dict[str, GroupDescription | AdminError] = {}
    described |= await _unlisted(admin, [group for group in requested if group not in types], unanswered)
    for kind, groups in by_type.items():
        of_type = await _describe(admin, groups, DESCRIBE_QUERIES[kind])
        described |= of_type
    return {group: described[group] for group in requested}


async def may_describe_group(admin: AdminSession, group_id: str) -> bool:
    """Return whether the user may describe a group of this id, which need not exist."""
    return not await _refused(admin, [group_id])


async def _unlisted(admin: AdminSession, groups: Sequence[str], unanswered: Collection[int]) -> dict[str, AdminError]:
    """Return the errors of groups that no broker lists: see `describe_groups`."""
    refused = await _refused(admin, groups) if groups else {}
    others = [group for group in groups if group not in refused]
    unknown = await groups_without_coordinator(admin, others, unanswered) if others else {}
    errors = refused | unknown
    return {group: errors.get(group) or AdminError.of_kafka(ErrorCode.GROUP_ID_NOT_FOUND, group) for group in groups}


async def _refused(admin: AdminSession, groups: Sequence[str]) -> dict[str, AdminError]:
    """Return the errors of groups that the user cannot describe, and that brokers leave out of their lists.

    Every broker knows the permissions.
    """
    from kwire.messages.kafka.describe_groups import DescribeGroupsRequest

    answer = await admin.router.read(DescribeGroupsRequest(groups=tuple(groups)), ANY)
    return {
        group.group_id: error
        for group in answer.response.groups
        if (error := answer.error(group, group.group_id)) is not None
        and error.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    }


async def describe_groups_of_type(
    admin: AdminSession, group_ids: Iterable[str], type: GroupType
) -> dict[str, tuple[Any, int] | AdminError]:
    """Return the structs with which coordinators describe groups of one type, and the ids of the coordinators.

    The structs have what `GroupDescription` leaves out, such as the topology of a streams group.

    Errors of a group: 69 unknown group, or a group of another type.
    """
    from kwire.client.admin.group_responses import DESCRIBE_QUERIES, DescribeQuery

    query = DescribeQuery(DESCRIBE_QUERIES[type].request, lambda group, coordinator: (group, coordinator))
    return await _describe(admin, strings_tuple(group_ids), query)


async def _describe(admin: AdminSession, groups: Sequence[str], query: DescribeQuery[T]) -> dict[str, T | AdminError]:
    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[T]]:
        answer = await admin.router.read(query.request(tuple(ids)), coordinator)
        return {
            group.group_id: answer.error(group, group.group_id) or query.description(group, coordinator.id)
            for group in answer.response.groups
        }

    return await at_coordinators(admin.router, groups, send)


async def delete_groups(admin: AdminSession, group_ids: Iterable[str], *, validate_only: bool = False) -> Outcomes:
    """Delete groups with their offsets. The command is not repeated after a lost response.

    Errors of a group: 7 the response was lost, so that it may be deleted; 68 it has members; 69 unknown group.

    Args:
        group_ids: the groups.
        validate_only: check that the groups have no members, and delete nothing.
    """
    from kwire.messages.kafka.delete_groups import DeleteGroupsRequest

    if validate_only:
        described = await describe_groups(admin, group_ids)
        checked = Outcomes({name: error_if_active(group) for name, group in described.items()})
        return await check_outcomes(admin, DeleteGroupsRequest, checked)

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[None]]:
        try:
            answer = await admin.router.command(DeleteGroupsRequest(groups_names=tuple(ids)), coordinator)
        except OutcomeUnknown as lost:  # what other coordinators have deleted is known
            code = ErrorCode.REQUEST_TIMED_OUT
            return {group: AdminError.of_kafka(code, group, str(lost)) for group in ids}
        return {result.group_id: answer.error(result, result.group_id) for result in answer.response.results}

    return Outcomes(await at_coordinators(admin.router, strings_tuple(group_ids), send))


# Offsets


async def list_group_offsets(admin: AdminSession, group_ids: Iterable[str]) -> dict[str, Offsets | AdminError]:
    """Return the committed offsets of classic, consumer, and streams groups. An unknown group has none.

    Args:
        group_ids: the groups.
    """
    from kwire.client.admin.group_responses import committed_offset
    from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[Offsets]]:
        if len(ids) > 1 and await admin.router.highest_version(OffsetFetchRequest) < GROUPS_SINCE:
            results: dict[str, Result[Offsets]] = {}
            for group in ids:
                results |= await send(coordinator, [group])
            return results
        request = OffsetFetchRequest(
            groups=tuple(OffsetFetchRequestGroup(group_id=group, topics=None) for group in ids)
        )
        answer = await admin.router.read(request, coordinator, adapt=_with_one_group, highest=NAMES_UNTIL)
        fetched: Any = answer.response.groups or [answer.response]
        return {
            group_id: answer.error(group, group_id)
            or {
                TopicPartition(topic.name, partition.partition_index): committed_offset(partition)
                for topic in group.topics
                for partition in topic.partitions
                if partition.committed_offset >= 0
            }
            for group in fetched
            for group_id in (getattr(group, "group_id", ids[0]),)  # the response for one group does not name it
        }

    return await at_coordinators(admin.router, strings_tuple(group_ids), send)


def _with_one_group(request: OffsetFetchRequest, version: int) -> OffsetFetchRequest:
    """Return the request for versions below 8 (Kafka 3.0), which have one group."""
    if version >= GROUPS_SINCE:
        return request
    from kwire.messages.kafka.offset_fetch import OffsetFetchRequest

    return OffsetFetchRequest(group_id=request.groups[0].group_id, topics=None)


async def alter_group_offsets(
    admin: AdminSession, group_id: str, offsets: Mapping[TopicPartition, int], *, validate_only: bool = False
) -> Outcomes:
    """Commit offsets for a group without active members. The command is repeated: it has the same effect again.

    The outcomes are by partition, such as `orders-3`. Errors: 3 unknown partition; 25 the group has members.

    Args:
        group_id: the group, which is created if it does not exist.
        offsets: the offsets to commit.
        validate_only: check the group and the partitions, and commit nothing.
    """
    from kwire.messages.kafka.offset_commit import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )

    if validate_only:
        group = (await describe_groups(admin, [group_id]))[group_id]
        is_new = isinstance(group, AdminError) and group.code == ErrorCode.GROUP_ID_NOT_FOUND
        checked = await check_offsets(admin, None if is_new else group, offsets, ErrorCode.UNKNOWN_MEMBER_ID)
        return await check_outcomes(admin, OffsetCommitRequest, checked)
    request = OffsetCommitRequest(
        group_id=group_id,
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offsets[TopicPartition(topic, index)],
                        committed_metadata="",
                    )
                    for index in indexes
                ),
            )
            for topic, indexes in by_topic(offsets).items()
        ),
    )

    async def send(coordinator: BrokerTarget, ids: Sequence[str]) -> Mapping[str, Result[Any]]:
        del ids
        answer = await admin.router.command(request, coordinator, repeatable=True, highest=NAMES_UNTIL)
        results = [partition for topic in answer.response.topics for partition in topic.partitions]
        # A coordinator that has moved refuses all partitions alike, so one code stands for the group.
        moved = [result.error_code for result in results if result.error_code in MOVED]
        if moved:
            return {group_id: AdminError.of_kafka(moved[0], group_id)}
        return {group_id: answer.response}

    response = (await at_coordinators(admin.router, [group_id], send))[group_id]
    if isinstance(response, AdminError):
        raise response
    return _by_partition(response.topics)


async def delete_group_offsets(
    admin: AdminSession, group_id: str, partitions: Iterable[TopicPartition], *, validate_only: bool = False
) -> Outcomes:
    """Delete committed offsets of a group. The command is not repeated after a lost response.

    The outcomes are by partition, such as `orders-3`. Errors: 86 the group is subscribed to the topic.

    Args:
        group_id: the group.
        partitions: the partitions.
        validate_only: check that no member is subscribed to the topics, and delete nothing.

    Raises:
        AdminError: 69 unknown group; 68 the group has members of another protocol.
    """
    from kwire.messages.kafka.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
    )

    if validate_only:
        checked = _check_subscription((await describe_groups(admin, [group_id]))[group_id], partitions)
        return await check_outcomes(admin, OffsetDeleteRequest, checked)
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=tuple(
            OffsetDeleteRequestTopic(
                name=topic, partitions=tuple(OffsetDeleteRequestPartition(partition_index=index) for index in indexes)
            )
            for topic, indexes in by_topic(partitions).items()
        ),
    )

    response = await at_coordinator(admin.router, group_id, request)
    return _by_partition(response.topics)


def _by_partition(topics: Iterable[Any]) -> Outcomes:
    return Outcomes(
        {
            f"{topic.name}-{partition.partition_index}": result_error(
                partition, f"{topic.name}-{partition.partition_index}", is_command=True
            )
            for topic in topics
            for partition in topic.partitions
        }
    )


# Checks of changes: members prevent them, and Kafka cannot validate such a change without making it.


def error_if_active(
    group: GroupDescription | AdminError | None, code: ErrorCode = ErrorCode.NON_EMPTY_GROUP
) -> AdminError | None:
    """Return the error of a change that needs a group without members; None if it has none.

    Args:
        group: the group, or the reason why it cannot be described; None if it need not exist.
        code: the code of the error of a group with members.
    """
    if group is None or isinstance(group, AdminError) or group.state in INACTIVE:
        return group if isinstance(group, AdminError) else None
    reason = f"the group is {group.state} with {counted(len(group.members), 'member')}: stop them first"
    return AdminError.of_kafka(code, group.group_id, reason)


async def check_offsets(
    admin: AdminSession,
    group: GroupDescription | AdminError | None,
    partitions: Iterable[TopicPartition],
    code: ErrorCode = ErrorCode.NON_EMPTY_GROUP,
) -> Outcomes:
    """Return the error that a commit of each partition would have. See `error_if_active` for `group` and `code`."""
    partitions = tuple(partitions)
    active = error_if_active(group, code)
    topics = await describe_topics(admin, {partition.topic for partition in partitions}) if partitions else {}
    outcomes: dict[str, AdminError | None] = {}
    for partition in partitions:
        topic = topics[partition.topic]
        error = active
        if isinstance(topic, TopicDescription) and partition.partition not in {of.partition for of in topic.partitions}:
            error = error or AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(partition))
        outcomes[str(partition)] = error or (topic if isinstance(topic, AdminError) else None)
    return Outcomes(outcomes)


def _check_subscription(group: GroupDescription | AdminError, partitions: Iterable[TopicPartition]) -> Outcomes:
    """Return the error that the deletion of each offset would have: no member may be subscribed to the topic.

    All partitions of a topic are assigned while members are subscribed to it.

    Raises:
        AdminError: the group cannot be described.
    """
    if isinstance(group, AdminError):
        raise group
    subscribed = {topic for member in group.members for topic in member.assignment or ()}
    return Outcomes(
        {
            str(partition): None
            if partition.topic not in subscribed
            else AdminError.of_kafka(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, str(partition))
            for partition in partitions
        }
    )
