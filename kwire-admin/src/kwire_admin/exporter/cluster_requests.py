"""The requests to each broker, in sequences that a Poller sends at two intervals.

| interval | to each broker | to one broker |
|---|---|---|
| short | its groups with their offsets; the ends of the logs that it leads | metadata |
| long | members, first offsets, sizes, transactions, unread records | configs of topics, quorum, features, tokens |

A sequence that needs answers of others begins once these are known, so the first answers of all are complete.

Each sequence is one conversation: the groups that a broker lists are in one OffsetFetch (KIP-709) and one request for
members of each type, and all partitions that it leads are in one ListOffsets. A sequence gives each response to the
state of the cluster. An error in one ends this sequence only, and is counted; the next round begins it again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client.admin.group_responses import DESCRIBE_QUERIES
from kwire.client.admin.group_values import GroupType
from kwire.client.admin.internal_topics import TRANSACTIONS
from kwire.client.admin.quorum import METADATA_TOPIC
from kwire.client.polled_offsets import EARLIEST, LATEST, MAX_TIMESTAMP, log_offsets
from kwire.client.polled_requests import PolledRequest, as_sequence, log_dirs, topic_configs
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.describe_delegation_token import DescribeDelegationTokenRequest
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest
from kwire.messages.kafka.describe_producers import DescribeProducersRequest, TopicRequest
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from kwire.messages.kafka.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.list_groups import ListGroupsRequest
from kwire.messages.kafka.list_offsets import ListOffsetsRequest
from kwire.messages.kafka.list_transactions import ListTransactionsRequest
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kwire.releases import guess_release
from kwire_admin.exporter.answers import Source
from kwire_admin.exporter.observed_cluster import RENDERING, LogDirValues
from kwire_admin.exporter.unread_records import UnreadRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from kwire.client.polled_requests import RequestFactory, RequestSequence
    from kwire.declare import Message, Request
    from kwire_admin.exporter.observed_cluster import ObservedCluster

    Conversation: TypeAlias = Callable[[ObservedCluster, Any, int], RequestSequence]
    """Returns requests to a broker, given the last metadata and its id."""

__all__ = ["ClusterRequests", "CoordinatedGroups", "cluster_requests"]

log = logging.getLogger("kwire_admin.exporter")

AFTER = {"transactions": ("newest", True), "max_timestamps": ("features", False), "unread": (RENDERING, False)}
"""The sequence, or the rendering that finds the unread records, that must have ended before a sequence begins; and True
if it must be with the same broker."""
CONFIGS = ("min.insync.replicas", "cleanup.policy", "retention.ms")
HANGING_AFTER_MS = 900_000
"""The default of `transaction.max.timeout.ms`: no transaction that is alive is older."""
NO_TOKENS = frozenset({ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED})
"""The cluster has no tokens, or its listener without authentication shows none: an answer, and not a failure."""
READ_COMMITTED = 1
"""The isolation level of requests for last stable offsets."""
MAX_TIMESTAMP_VERSION = 7
"""First version of ListOffsets with MAX_TIMESTAMP."""
GROUP_MOVES = frozenset({14, 15, 16})
"""Errors of a group whose coordinator starts or moves: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
NOT_COORDINATOR. Its members are known as before until the new coordinator answers."""


class ClusterRequests(NamedTuple):
    """The requests whose responses update a state.

    Attributes:
        polled: the requests.
        sequences: names of the sequences to each broker.
        shared: names of the sequences to one broker.
    """

    polled: list[PolledRequest]
    sequences: list[str]
    shared: list[str]


def cluster_requests(
    state: ObservedCluster, interval: float, long_interval: float, needs: Collection[Source] = tuple(Source)
) -> ClusterRequests:
    """Return the requests whose responses update a state.

    Args:
        state: the state.
        interval: seconds between two requests for groups and ends of logs.
        long_interval: seconds between two requests for what changes rarely.
        needs: the kinds of answers that any series comes from.
    """
    groups = CoordinatedGroups(round(long_interval / interval))
    ends = LedPartitions(LATEST, state.selection.has_topic)
    sequences: dict[str, Conversation] = {
        "groups": groups.requests,
        "newest": partial(_offsets, ends, Source.NEWEST),
        "oldest": partial(_offsets, LedPartitions(EARLIEST, state.selection.has_topic), Source.OLDEST),
        "log_dirs": _log_dirs,
        "transactions": partial(_transactions, ends),
    }
    if Source.MAX_TIMESTAMPS in needs:
        sequences["max_timestamps"] = partial(_max_timestamps, LedPartitions(MAX_TIMESTAMP, state.selection.has_topic))
    if Source.UNREAD in needs:
        sequences["unread"] = UnreadRecords().requests
    shared: dict[str, Conversation] = {
        "configs": partial(_configs, topic_configs(CONFIGS)),
        "features": _features,
        "quorum": _quorum,
        "tokens": _tokens,
    }
    polled: list[PolledRequest] = []
    for name, conversation in (*sequences.items(), *shared.items()):
        is_short = name in ("groups", "newest")
        request: RequestFactory = partial(_guarded, name, conversation, state)
        if name in AFTER:
            request = DependentRequests(request, state, *AFTER[name], round(long_interval / interval)).requests
        polled.append(
            PolledRequest(
                request,
                interval if is_short or name in AFTER else long_interval,
                brokers="one" if name in shared else "all",
                # A slow response, such as DescribeConfigs has, must not delay the others.
                separate_connection=not is_short,
                # Events come from configs. The others are large and rare, and their values are kept.
                keeps_response=is_short or name in shared,
            )
        )
    return ClusterRequests(polled, list(sequences), list(shared))


def _guarded(
    name: str, conversation: Conversation, state: ObservedCluster, metadata: Any, broker: int
) -> RequestSequence:
    """Send the requests of a conversation. Its own errors end it, and are counted and logged once."""
    api_key = MetadataRequest.api_key
    try:
        with closing(conversation(state, metadata, broker)) as requests:
            request = next(requests, None)
            while request is not None:
                api_key = request.api_key
                response: Message = yield request
                request = requests.send(response)
    except StopIteration:
        pass
    except Exception as error:
        if state.take_failure(broker, api_key, error):
            log.exception("a response about %s of broker %d cannot be used because of a bug", name, broker)
    finally:
        state.finish_round(broker, name)


class DependentRequests:
    """Requests that need the answers to others: tried at the short interval, and sent again at the long one.

    Args:
        factory: returns the requests.
        state: the state.
        needed: the sequence that must have ended once.
        of_broker: True if it must have ended with the same broker.
        rounds: number of short intervals in a long one.
    """

    def __init__(
        self, factory: RequestFactory, state: ObservedCluster, needed: str, of_broker: bool, rounds: int
    ) -> None:
        self._factory, self._state, self._rounds = factory, state, rounds
        self._needed, self._of_broker = needed, of_broker
        self._left: dict[int, int] = {}

    def requests(self, metadata: Any, broker: int) -> Request[Any] | RequestSequence | None:
        """Return the requests to a broker, if it is time for them."""
        left = self._left.get(broker, 0)
        if left > 0:
            self._left[broker] = left - 1
            return None
        if not self._state.has_ended(self._needed, broker if self._of_broker else None):
            return None
        self._left[broker] = self._rounds - 1
        return self._factory(metadata, broker)


class CoordinatedGroups:
    """Requests for the groups that a broker coordinates, their offsets, and their members.

    Members cost as much as the rest together, so they are requested if the list of groups changed, which contains
    their states, and otherwise rarely.

    Args:
        rounds: number of rounds from one request for members to the next, if the list stays equal.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._described: dict[int, tuple[int, Any]] = {}

    def requests(self, state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
        listed = yield ListGroupsRequest()
        if state.accepts(broker, ListGroupsRequest, Source.GROUPS, listed.error_code):
            state.groups.set_listing(broker, listed.groups)
        by_type: dict[GroupType, list[str]] = defaultdict(list)
        for group_id in state.groups.coordinated_by(broker):
            by_type[state.groups.records[group_id].kind or GroupType.UNKNOWN].append(group_id)
        for request in _offset_requests(by_type):
            # Without authorization for a group, its entry has an error; the others are complete.
            reported = yield request
            state.answers.renew(broker, Source.OFFSETS)
            state.groups.set_offsets(reported.groups)
        if not by_type:
            for source in (Source.OFFSETS, Source.MEMBERS):
                state.answers.renew(broker, source)
        rounds_left, before = self._described.pop(broker, (0, None))  # after a failure, the next round describes them
        if rounds_left <= 0 or listed.groups is not before:
            rounds_left = self._rounds
            for kind, groups in by_type.items():
                query = DESCRIBE_QUERIES[kind]
                described = yield query.request(tuple(sorted(groups)))
                for group in described.groups:
                    if not group.error_code:
                        state.answers.renew(broker, Source.MEMBERS)
                        description = partial(query.description, group, broker)
                        state.groups.set_description(group.group_id, group, description)
                    elif group.error_code not in GROUP_MOVES:
                        state.groups.forget_members(group.group_id)
        self._described[broker] = rounds_left - 1, listed.groups


def _offset_requests(by_type: Mapping[GroupType, list[str]]) -> Iterator[Request[Any]]:
    """Return the requests for the offsets of groups: one for all types but share groups, and one for these."""
    others = [group for kind, groups in by_type.items() if kind is not GroupType.SHARE for group in groups]
    if others:
        yield OffsetFetchRequest(
            groups=tuple(OffsetFetchRequestGroup(group_id=group, topics=None) for group in sorted(others))
        )
    if shared := by_type.get(GroupType.SHARE):
        yield DescribeShareGroupOffsetsRequest(
            groups=tuple(DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in sorted(shared))
        )


class LedPartitions:
    """Requests for an offset of all selected partitions that a broker leads, made again when the metadata changes."""

    def __init__(self, timestamp: int, has_topic: Callable[[str], bool]) -> None:
        self._timestamp, self._has_topic = timestamp, has_topic
        self._requests: dict[int, tuple[Any, ListOffsetsRequest | None]] = {}

    def request(self, metadata: Any, broker: int) -> ListOffsetsRequest | None:
        """Return the request for a broker; None if it leads no selected partition."""
        source, request = self._requests.get(broker, (None, None))
        if source is not metadata:
            names = (topic.name for topic in metadata.topics)
            topics = [name for name in names if name is not None and self._has_topic(name)]
            request = log_offsets(metadata, broker, topics, self._timestamp)
            self._requests[broker] = metadata, request
        return request


def _offsets(led: LedPartitions, source: Source, state: ObservedCluster, metadata: Any, broker: int) -> RequestSequence:
    request = led.request(metadata, broker)
    if request is None:
        state.answers.renew(broker, source)
        return
    response = yield request
    state.answers.renew(broker, source)
    state.topics.set_offsets(source, broker, response.topics)


def _max_timestamps(led: LedPartitions, state: ObservedCluster, metadata: Any, broker: int) -> RequestSequence:
    # Before KIP-734, a broker takes the number for a time, and answers with its first record.
    versions = {api.api_key: api.max_version for api in state.features.api_keys} if state.features else {}
    if versions.get(ListOffsetsRequest.api_key, 0) >= MAX_TIMESTAMP_VERSION:
        yield from _offsets(led, Source.MAX_TIMESTAMPS, state, metadata, broker)


def _log_dirs(state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
    response = yield log_dirs()
    if not state.accepts(broker, DescribeLogDirsRequest, Source.SIZES, response.error_code):
        return
    sizes: dict[str, int] = {}
    values: list[LogDirValues] = []
    for log_dir in response.results:
        total = 0
        for topic in log_dir.topics:
            size = sum([partition.partition_size for partition in topic.partitions if partition.partition_size > 0])
            sizes[topic.name] = sizes.get(topic.name, 0) + size
            total += size
        is_online = not log_dir.error_code
        values.append(LogDirValues(log_dir.log_dir, total, log_dir.total_bytes, log_dir.usable_bytes, is_online))
    state.topics.set_sizes(broker, sizes)
    state.brokers[broker].log_dirs = values


def _transactions(led: LedPartitions, state: ObservedCluster, metadata: Any, broker: int) -> RequestSequence:
    listed = yield ListTransactionsRequest(state_filters=(), producer_id_filters=())
    if state.accepts(broker, ListTransactionsRequest, Source.TRANSACTIONS, listed.error_code):
        state.brokers[broker].transactions = listed.transaction_states
    led_logs = led.request(metadata, broker)
    requested: tuple[TopicRequest, ...] = ()
    if led_logs is not None:
        committed = yield ListOffsetsRequest(replica_id=-1, isolation_level=READ_COMMITTED, topics=led_logs.topics)
        requested = _with_open_transactions(state, committed)
    described = (yield DescribeProducersRequest(topics=requested)).topics if requested else ()
    state.answers.renew(broker, Source.PRODUCERS)
    state.brokers[broker].hanging = _hanging_transactions(state, described)


def _with_open_transactions(state: ObservedCluster, committed: Any) -> tuple[TopicRequest, ...]:
    """Return the partitions whose last stable offset, of a response, is before the end of the log."""
    requested = []
    for topic in committed.topics:
        record = state.topics.records.get(topic.name)
        if record is None:
            continue
        ends = record.ends([partition.partition_index for partition in topic.partitions])
        indexes = tuple(
            partition.partition_index
            for partition, end in zip(topic.partitions, ends, strict=True)
            if 0 <= partition.offset < end and partition.error_code == 0
        )
        if indexes:
            requested.append(TopicRequest(name=topic.name, partition_indexes=indexes))
    return tuple(requested)


def _hanging_transactions(state: ObservedCluster, described: Iterable[Any]) -> dict[tuple[str, int], int]:
    """Return numbers of open transactions that no coordinator knows, by topic and partition.

    Args:
        described: topics with the producers of their partitions.
    """
    if TRANSACTIONS in state.unknown_coordinators():  # an absent coordinator may know them
        return {}
    newest = int(state.clock() * 1000) - HANGING_AFTER_MS
    known = {
        transaction.producer_id
        for values in state.brokers.values()
        for transaction in values.transactions
        if transaction.transaction_state != "Empty"
    }
    hanging = {
        (topic.name, partition.partition_index): sum(
            producer.current_txn_start_offset >= 0
            and producer.last_timestamp < newest
            and producer.producer_id not in known
            for producer in partition.active_producers
        )
        for topic in described
        for partition in topic.partitions
    }
    return {log: count for log, count in hanging.items() if count}


def _configs(asked: RequestFactory, state: ObservedCluster, metadata: Any, broker: int) -> RequestSequence:
    with closing(as_sequence(asked(metadata, broker))) as requests:
        for request in requests:  # each for some of the topics
            response = yield request
            state.answers.renew(broker, Source.CONFIGS)
            state.topics.set_configs(response.results)


def _features(state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
    # One broker suffices: features belong to the cluster.
    response = yield ApiVersionsRequest(client_software_name="kwire", client_software_version="1")
    state.answers.renew(broker, Source.FEATURES)
    if response is not state.features:
        state.features, state.release = response, str(guess_release(response))


def _quorum(state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
    # Any broker forwards it to the active controller.
    topic = TopicData(topic_name=METADATA_TOPIC, partitions=(PartitionData(partition_index=0),))
    response = yield DescribeQuorumRequest(topics=(topic,))
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    error = response.error_code or (partitions[0].error_code if partitions else ErrorCode.UNKNOWN_SERVER_ERROR)
    if state.accepts(broker, DescribeQuorumRequest, Source.QUORUM, error):
        state.quorum = partitions[0]


def _tokens(state: ObservedCluster, _: Any, broker: int) -> RequestSequence:
    # Every broker has all tokens.
    response = yield DescribeDelegationTokenRequest(owners=None)
    error = 0 if response.error_code in NO_TOKENS else response.error_code
    if state.accepts(broker, DescribeDelegationTokenRequest, Source.TOKENS, error):
        state.tokens = () if response.error_code else response.tokens
