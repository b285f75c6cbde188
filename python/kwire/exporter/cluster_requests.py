"""The requests to each broker, in sequences that a Poller sends at two intervals.

| interval | to each broker | to one broker |
|---|---|---|
| short | its groups with their offsets; the ends of the logs that it leads | metadata |
| long | members, first offsets, log directories, transactions | configs of topics, quorum, features, tokens |

Each sequence is one conversation: the groups that a broker lists are in one OffsetFetch (KIP-709) and one request for
members of each type, and all partitions that it leads are in one ListOffsets.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.client.admin.group_responses import DESCRIBE_QUERIES
from kwire.client.admin.group_values import GroupType
from kwire.client.admin.quorum import METADATA_TOPIC
from kwire.client.polled_offsets import EARLIEST, LATEST, log_offsets
from kwire.client.polled_requests import PolledRequest, log_dirs, topic_configs
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.describe_delegation_token import DescribeDelegationTokenRequest
from kwire.messages.kafka.describe_producers import DescribeProducersRequest, TopicRequest
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from kwire.messages.kafka.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kwire.messages.kafka.list_groups import ListGroupsRequest
from kwire.messages.kafka.list_transactions import ListTransactionsRequest
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.client.polled_requests import RequestSequence
    from kwire.exporter.cluster_view import ClusterView
    from kwire.messages.kafka.list_offsets import ListOffsetsRequest

__all__ = ["cluster_requests"]

CONFIGS = ("min.insync.replicas", "cleanup.policy")


def cluster_requests(view: ClusterView, interval: float, long_interval: float) -> list[PolledRequest]:
    """Return the requests whose responses update a view.

    Args:
        view: the view.
        interval: seconds between two requests for groups and ends of logs.
        long_interval: seconds between two requests for what changes rarely.
    """

    def short(sequence: Callable[..., RequestSequence]) -> PolledRequest:
        return PolledRequest(partial(sequence, view), interval)

    def long(sequence: Callable[..., RequestSequence]) -> PolledRequest:
        # A slow response, such as DescribeConfigs has, must not delay the others.
        return PolledRequest(partial(sequence, view), long_interval, separate_connection=True)

    def once(sequence: Callable[..., RequestSequence]) -> PolledRequest:
        return long(sequence)._replace(brokers="one")

    return [
        PolledRequest(partial(CoordinatedGroups(round(long_interval / interval)).requests, view), interval),
        short(partial(_offsets, LedPartitions(LATEST))),
        long(partial(_offsets, LedPartitions(EARLIEST))),
        long(_log_dirs),
        long(partial(_transactions, LedPartitions(LATEST, committed_only=True))),
        *map(once, (_configs, _features, _quorum, _tokens)),
    ]


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

    def requests(self, view: ClusterView, _: Any, broker: int) -> RequestSequence:
        listed = yield ListGroupsRequest()
        view.set_groups(broker, listed)
        by_type: dict[GroupType, list[str]] = defaultdict(list)
        for group in view.groups.values():
            if group.coordinator == broker and group.kind is not None:
                by_type[group.kind].append(group.group_id)
        shared = by_type.get(GroupType.SHARE, [])
        others = [group for kind, groups in by_type.items() if kind is not GroupType.SHARE for group in groups]
        if others:
            # Without authorization for a group, its entry has an error; the others are complete.
            wanted = tuple(OffsetFetchRequestGroup(group_id=group, topics=None) for group in sorted(others))
            view.set_group_offsets((yield OffsetFetchRequest(groups=wanted)))
        if shared:
            of_share = tuple(
                DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in sorted(shared)
            )
            view.set_group_offsets((yield DescribeShareGroupOffsetsRequest(groups=of_share)))
        rounds_left, before = self._described.pop(broker, (0, None))  # after a failure, the next round describes them
        if rounds_left <= 0 or listed.groups is not before:
            rounds_left = self._rounds
            for kind, groups in by_type.items():
                query = DESCRIBE_QUERIES[kind]
                described = yield query.request(tuple(sorted(groups)))
                for group in described.groups:
                    if not group.error_code:
                        view.set_group_description(group.group_id, group, partial(query.description, group, broker))
        self._described[broker] = rounds_left - 1, listed.groups


class LedPartitions:
    """Requests for an offset of all partitions that a broker leads, made again when the metadata changes."""

    def __init__(self, timestamp: int, *, committed_only: bool = False) -> None:
        self.timestamp, self._committed_only = timestamp, committed_only
        self._requests: dict[int, tuple[Any, ListOffsetsRequest | None]] = {}

    def request(self, view: ClusterView, metadata: Any, broker: int) -> ListOffsetsRequest | None:
        """Return the request for a broker; None if it leads no selected partition."""
        view.set_metadata(metadata)
        source, request = self._requests.get(broker, (None, None))
        if source is not metadata:
            request = log_offsets(metadata, broker, view.records, self.timestamp, committed_only=self._committed_only)
            self._requests[broker] = metadata, request
        return request


def _offsets(led: LedPartitions, view: ClusterView, metadata: Any, broker: int) -> RequestSequence:
    request = led.request(view, metadata, broker)
    if request is not None:
        response = yield request
        (view.set_ends if led.timestamp == LATEST else view.set_starts)(broker, response)


def _log_dirs(view: ClusterView, _: Any, broker: int) -> RequestSequence:
    view.set_log_dirs(broker, (yield log_dirs()))


def _transactions(led: LedPartitions, view: ClusterView, metadata: Any, broker: int) -> RequestSequence:
    view.set_transactions(broker, (yield ListTransactionsRequest(state_filters=(), producer_id_filters=())))
    request = led.request(view, metadata, broker)
    if request is None:
        return
    topics = view.partitions_with_open_transactions((yield request))
    if not topics:
        view.set_producers(broker, ())
        return
    requested = tuple(TopicRequest(name=name, partition_indexes=tuple(indexes)) for name, indexes in topics.items())
    view.set_producers(broker, (yield DescribeProducersRequest(topics=requested)).topics)


def _configs(view: ClusterView, metadata: Any, broker: int) -> RequestSequence:
    request: Any = topic_configs(CONFIGS)(metadata, broker)
    if request is not None:
        view.set_configs((yield request))


def _features(view: ClusterView, _: Any, broker: int) -> RequestSequence:
    del broker  # one suffices: features belong to the cluster
    view.set_features((yield ApiVersionsRequest(client_software_name="kwire", client_software_version="1")))


def _quorum(view: ClusterView, _: Any, broker: int) -> RequestSequence:
    del broker  # any broker forwards it to the active controller
    topic = TopicData(topic_name=METADATA_TOPIC, partitions=(PartitionData(partition_index=0),))
    view.set_quorum((yield DescribeQuorumRequest(topics=(topic,))))


def _tokens(view: ClusterView, _: Any, broker: int) -> RequestSequence:
    del broker  # every broker has all tokens
    view.set_tokens((yield DescribeDelegationTokenRequest(owners=None)))
