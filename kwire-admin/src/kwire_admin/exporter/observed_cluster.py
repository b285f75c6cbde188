"""Known values of one cluster, from the answers of its brokers.

    answers of brokers    `take_*`: checked, stored, and marked as changed
    time                  `drop_stale`: values whose answer is too old are dropped
    the series            `cluster_view` renders what changed

Values come from other programs. A number is used as a name or as a value, and never as a size; a part that makes no
sense is unknown. Whatever fails nevertheless ends only the sequence of requests that got it (`take_failure`).
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client.admin.internal_topics import GROUPS, SHARE_STATES, TRANSACTIONS
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.metadata import events
from kwire.protocol import ConnectionFault, NoCommonVersion
from kwire.releases import guess_release
from kwire_admin.exporter.answers import AnswerLog, Source
from kwire_admin.exporter.group_table import GroupTable
from kwire_admin.exporter.offset_history import UNKNOWN
from kwire_admin.exporter.topic_table import OFFSETS, TopicTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import GroupDescription
    from kwire.client.poll import Poll
    from kwire_admin.exporter.history_file import SavedHistory
    from kwire_admin.exporter.selection import Selection
    from kwire_admin.exporter.topic_record import MonitoredTopic

__all__ = ["BrokerValues", "ObservedCluster"]

COORDINATED = frozenset({GROUPS, TRANSACTIONS, SHARE_STATES})
"""The topics whose leaders are coordinators."""
METADATA = 3
"""The API key of Metadata."""
HANGING_AFTER_MS = 900_000
"""The default of `transaction.max.timeout.ms`: no transaction that is alive is older."""
MAX_UNBOUNDED = 1_000
"""Maximum number of unread records of a leader considered in a round. Chosen: fifty times as many as are fetched."""
RENDERING = "rendering"
"""The rendering of the series, in place of a sequence of requests."""
EVENTS = tuple(name for name in events.__all__ if name != "MetadataEvent")


class LogDirValues(NamedTuple):
    """A log directory of a broker.

    Attributes:
        path: its path.
        size: bytes of its replicas.
        volume: size of its volume in bytes; -1 if the broker does not report it.
        usable: bytes that are left on its volume; -1 if the broker does not report them.
        is_online: True if it can be used.
    """

    path: str
    size: int
    volume: int
    usable: int
    is_online: bool


@dataclass(slots=True)
class BrokerValues:
    """The last answers of a broker about itself.

    Attributes:
        log_dirs: its log directories.
        transactions: states and producer ids of the transactional ids that it coordinates.
        hanging: numbers of hanging transactions by topic and partition.
    """

    log_dirs: list[LogDirValues] = field(default_factory=list)
    transactions: Sequence[Any] = ()
    hanging: dict[tuple[str, int], int] = field(default_factory=dict)


class ObservedCluster:
    """Knowledge about one cluster.

    Args:
        selection: the topics and groups.
        clock: returns seconds since 1970.

    Attributes:
        answers: the times and counters of answers.
        topics: the topics.
        groups: the groups.
        brokers: values of brokers by id.
        quorum: the last state of the KRaft quorum; None if it is not known.
        features: the last ApiVersions response; None if it is not known.
        release: the release that `features` shows; empty if it is not known.
        tokens: the delegation tokens that the client may see.
        controller: the controller of the last Metadata response.
        events: numbers of events by name.
        certificate_ends: the end of each broker's certificate in seconds since 1970.
        incidents: numbers of incidents that have not ended, by kind.
        restarts: number of times that polling began again after an error.
        saved: samples of an earlier run, by topic, until the topic's history begins.
    """

    def __init__(self, selection: Selection, clock: Callable[[], float] = time.time) -> None:
        self._selection, self._clock = selection, clock
        self.answers = AnswerLog(clock)
        self.events: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self.restarts = 0
        self.saved: dict[str, SavedHistory] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all values. Counters go on."""
        self.answers.forget_values()
        self.topics = TopicTable(self._selection.has_topic, self._clock)
        self.groups = GroupTable(self._selection.has_group, self._selection.has_topic, self._clock)
        self.brokers: dict[int, BrokerValues] = defaultdict(BrokerValues)
        self.quorum: Any = None
        self.features: Any = None
        self.release = ""
        self.tokens: Sequence[Any] = ()
        self.controller = UNKNOWN
        self.certificate_ends: Mapping[int, float] = {}
        self.incidents: Mapping[str, int] = {}
        self._rounds: set[tuple[int, str]] = set()

    # Polls

    def take_poll(self, poll: Poll[Any]) -> None:
        """Count a poll of any API: its latency or error, and its events."""
        self.answers.sent = self.answers.sent.plus(poll.request)
        self.answers.received = self.answers.received.plus(poll.payload)
        if poll.error is None:
            self.answers.succeed(poll.broker_id, poll.api_key, poll.duration_us / 1e6)
        elif not isinstance(poll.error, NoCommonVersion):  # the release lacks the API; that does not count as a failure
            self.answers.fail(poll.broker_id, poll.api_key, type(poll.error).__name__)
            if isinstance(poll.error, ConnectionFault):
                self.answers.miss(poll.broker_id, poll.polled_at.timestamp(), poll.duration_us / 1e6)
        if poll.controller_id is not None:
            self.controller = poll.controller_id
        self.events.update(type(event).__name__ for event in poll.events)

    def take_metadata(self, poll: Poll[Any], agreed: Any) -> None:
        """Take the metadata of all topics.

        Args:
            poll: the last poll of any API.
            agreed: the last plausible response with topics; None before it.
        """
        if agreed is None:
            return
        message = poll.message
        if poll.api_key == METADATA and message is not None and (message.topics or not agreed.topics):
            self.answers.renew(poll.broker_id, Source.METADATA)
        if self.answers.is_fresh(Source.METADATA):
            self.topics.set_metadata(agreed)

    def take_failure(self, broker: int, api_key: int, error: Exception) -> bool:
        """Count an answer that could not be used because of a bug, and return whether it is the first of its kind."""
        name = type(error).__name__
        is_first = not any(key[1:] == (api_key, name) for key in self.answers.failures)
        self.answers.fail(broker, api_key, name)
        return is_first

    def is_usable(self, broker: int, api_key: int, error_code: int) -> bool:
        """Return whether a response has no error; an error counts as a failure of the request."""
        if error_code:
            # A name that a broker can choose freely would be a series each time.
            name = ErrorCode(error_code).name if error_code in KNOWN_ERRORS else "UNKNOWN"
            self.answers.fail(broker, api_key, name)
        return not error_code

    # Readiness

    def finish_round(self, broker: int, sequence: str) -> None:
        """Note that a sequence of requests to a broker has ended, or failed, once."""
        self._rounds.add((broker, sequence))

    def has_ended(self, sequence: str, broker: int | None) -> bool:
        """Return whether a sequence has ended once, with a broker; None for any."""
        return any(ended == sequence and broker in (None, id) for id, ended in self._rounds)

    def begin_rendering(self) -> None:
        """Note that a rendering begins, which finds all unread records if all groups and ends of logs are known."""
        listed = () if self.metadata is None else self.metadata.brokers
        if not self.has_ended(RENDERING, None) and self.has_asked(
            [broker.node_id for broker in listed], ("groups", "newest"), ()
        ):
            self.finish_round(UNKNOWN, RENDERING)
            for topic in self.saved:
                self.groups.mark_readers(topic)

    def start_history(self, topic: MonitoredTopic, name: str) -> None:
        """Take the first sample of a topic that a group reads, after the samples of an earlier run, if there are any.

        Those wait until all ends are known that tell whether they are of the same log.
        """
        now = self._clock()
        if name in self.saved and not self.has_ended(RENDERING, None):
            return
        saved = self.saved.pop(name, None)
        if saved is not None and saved.fits(topic, now):
            is_known = [end >= 0 for end in topic.newest]
            topic.history.restore(
                (since, at, [end if known else UNKNOWN for end, known in zip(ends, is_known, strict=True)])
                for since, at, ends in saved.samples
            )
        topic.history.add(now, topic.newest)

    def has_asked(self, brokers: Iterable[int], sequences: Iterable[str], shared: Iterable[str]) -> bool:
        """Return whether each broker that responds was asked for everything once.

        Args:
            brokers: the brokers that are polled.
            sequences: the sequences of requests to each broker.
            shared: the sequences of requests to one of them.
        """
        if self.topics.metadata is None:
            return False
        asked = {sequence for _, sequence in self._rounds}
        alive = [broker for broker in brokers if broker not in self.answers.down]
        return asked.issuperset(shared) and all(
            (broker, sequence) in self._rounds for broker in alive for sequence in sequences
        )

    # Answers

    def take_offsets(self, broker: int, source: Source, response: Any) -> None:
        """Take offsets of the logs that a broker leads."""
        self.answers.renew(broker, source)
        self.topics.set_offsets(source, broker, response.topics)

    def take_log_dirs(self, broker: int, response: Any) -> None:
        """Take the log directories of a broker."""
        if not self.is_usable(broker, 35, response.error_code):
            return
        self.answers.renew(broker, Source.SIZES)
        sizes: dict[str, int] = {}
        log_dirs: list[LogDirValues] = []
        for log_dir in response.results:
            total = 0
            for topic in log_dir.topics:
                size = sum([partition.partition_size for partition in topic.partitions if partition.partition_size > 0])
                sizes[topic.name] = sizes.get(topic.name, 0) + size
                total += size
            is_online = not log_dir.error_code
            log_dirs.append(LogDirValues(log_dir.log_dir, total, log_dir.total_bytes, log_dir.usable_bytes, is_online))
        self.brokers[broker].log_dirs = log_dirs
        self.topics.set_sizes(broker, sizes)

    def take_configs(self, broker: int, response: Any) -> None:
        """Take configs of topics."""
        self.answers.renew(broker, Source.CONFIGS)
        self.topics.set_configs(response.results)

    def take_groups(self, broker: int, response: Any) -> None:
        """Take the groups that a broker coordinates."""
        if self.is_usable(broker, 16, response.error_code):
            self.answers.renew(broker, Source.GROUPS)
            self.groups.set_listing(broker, response.groups)

    def take_group_offsets(self, broker: int, response: Any) -> None:
        """Take committed offsets, of share groups as well."""
        self.answers.renew(broker, Source.OFFSETS)
        self.groups.set_offsets(response.groups)

    def take_description(
        self, broker: int, group_id: str, described: Any, description: Callable[[], GroupDescription]
    ) -> None:
        """Take the members of a group; `description` is called if `described` is another object than before."""
        self.answers.renew(broker, Source.MEMBERS)
        self.groups.set_description(group_id, described, description)

    def take_transactions(self, broker: int, response: Any) -> None:
        """Take the transactional ids that a broker coordinates."""
        if self.is_usable(broker, 66, response.error_code):
            self.answers.renew(broker, Source.TRANSACTIONS)
            self.brokers[broker].transactions = response.transaction_states

    def partitions_with_open_transactions(self, response: Any) -> dict[str, list[int]]:
        """Return the partitions whose last stable offset is before the end of the log, by topic.

        Args:
            response: the last stable offsets of the partitions that a broker leads.
        """
        partitions_of_topics: dict[str, list[int]] = defaultdict(list)
        for topic in response.topics:
            record = self.topics.records.get(topic.name)
            if record is None:
                continue
            ends = record.ends([partition.partition_index for partition in topic.partitions])
            for partition, end in zip(topic.partitions, ends, strict=True):
                if 0 <= partition.offset < end and partition.error_code == 0:
                    partitions_of_topics[topic.name].append(partition.partition_index)
        return partitions_of_topics

    def take_producers(self, broker: int, topics: Iterable[Any]) -> None:
        """Take the producers of partitions with open transactions: a transaction that no coordinator knows hangs."""
        self.answers.renew(broker, Source.PRODUCERS)
        newest = int(self._clock() * 1000) - HANGING_AFTER_MS
        known = {
            transaction.producer_id
            for values in self.brokers.values()
            for transaction in values.transactions
            if transaction.transaction_state != "Empty"
        }
        hanging: dict[tuple[str, int], int] = {}
        if TRANSACTIONS in self.unknown_coordinators():  # an absent coordinator may know them
            topics = ()
        for topic in topics:
            for partition in topic.partitions:
                count = sum(
                    producer.current_txn_start_offset >= 0
                    and producer.last_timestamp < newest
                    and producer.producer_id not in known
                    for producer in partition.active_producers
                )
                if count:
                    hanging[topic.name, partition.partition_index] = count
        self.brokers[broker].hanging = hanging

    def take_quorum(self, broker: int, response: Any) -> None:
        """Take the state of the KRaft quorum. A response without the partition of its log has none."""
        if not self.is_usable(broker, DescribeQuorumRequest.api_key, response.error_code):
            return
        partitions = [partition for topic in response.topics for partition in topic.partitions]
        error = partitions[0].error_code if partitions else UNKNOWN_SERVER_ERROR
        if self.is_usable(broker, DescribeQuorumRequest.api_key, error):
            self.answers.renew(broker, Source.QUORUM)
            self.quorum = partitions[0]

    def take_features(self, broker: int, response: Any) -> None:
        """Take an ApiVersions response."""
        self.answers.renew(broker, Source.FEATURES)
        if response is not self.features:
            self.features, self.release = response, str(guess_release(response))

    def take_tokens(self, broker: int, response: Any) -> None:
        """Take the delegation tokens that the client may see."""
        if response.error_code in NO_TOKENS or self.is_usable(broker, 41, response.error_code):
            self.answers.renew(broker, Source.TOKENS)
            self.tokens = () if response.error_code else response.tokens

    def selected(self, metadata: Any) -> list[str]:
        """Return the names of the topics in metadata that have series."""
        names = (topic.name for topic in metadata.topics)
        return [name for name in names if name is not None and self._selection.has_topic(name)]

    def unbounded_records(self) -> dict[int, dict[tuple[str, str, int], int]]:
        """Return the first unread records whose time no sample shows.

        Returns:
            By leader, their offsets by group, topic, and partition, at most MAX_UNBOUNDED.
        """
        unread: dict[int, dict[tuple[str, str, int], int]] = defaultdict(dict)
        for group_id, topic in self.groups.unbounded:
            record, read = self.topics.records.get(topic), self.groups.read(group_id, topic)
            if record is None or read is None:
                continue
            for partition, offset in read.unbounded.items():
                of_leader = unread[record.leader(partition)]
                if len(of_leader) < MAX_UNBOUNDED:
                    of_leader[group_id, topic, partition] = offset
        return unread

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return self._clock()

    # Time

    @property
    def has_changed(self) -> bool:
        """True if topics, groups, or the brokers that answer changed since the last rendering took the marks."""
        return self.topics.has_changed or self.groups.changes.has_any or self.answers.has_changed

    def mark_all(self) -> None:
        """Mark everything as changed, so that it is rendered again."""
        self.topics.mark_all()
        self.groups.mark_all()

    def forget_brokers(self, polled: Collection[int]) -> None:
        """Drop the values of brokers that are not polled any more."""
        for broker in self.answers.forget(polled):
            for source in Source:
                self._drop(broker, source)

    def drop_stale(self) -> None:
        """Drop the values of answers that were not renewed in time: they may be wrong by now."""
        for broker, source in list(self.answers.stale()):
            if self.answers.drop(broker, source):
                self._drop(broker, source)
        self.topics.drop_offline()
        self.groups.drop_refused(self.answers.max_age(Source.OFFSETS))
        for source, drop in (
            (Source.METADATA, self.topics.drop_metadata),
            (Source.CONFIGS, self.topics.drop_configs),
            (Source.QUORUM, self._drop_quorum),
            (Source.FEATURES, self._drop_features),
            (Source.TOKENS, self._drop_tokens),
        ):
            if not self.answers.is_fresh(source):
                drop()

    def _drop(self, broker: int, source: Source) -> None:
        if source in OFFSETS or source is Source.SIZES:
            self.topics.drop(broker, source)
        self.groups.drop(broker, source)
        values = self.brokers.get(broker)
        if values is not None:
            if source is Source.SIZES:
                values.log_dirs = []
            elif source is Source.TRANSACTIONS:
                values.transactions = ()
            elif source is Source.PRODUCERS:
                values.hanging = {}

    def _drop_quorum(self) -> None:
        self.quorum = None

    def _drop_features(self) -> None:
        self.features, self.release = None, ""

    def _drop_tokens(self) -> None:
        self.tokens = ()

    # Derived values

    def unknown_coordinators(self) -> dict[str, int]:
        """Return numbers of partitions without a leader by internal topic: no broker knows what belongs to them."""
        topics = () if self.metadata is None else self.metadata.topics
        counts = {
            topic.name: sum(partition.leader_id < 0 for partition in topic.partitions)
            for topic in topics
            if topic.name in COORDINATED
        }
        return {topic: count for topic, count in counts.items() if count}

    @property
    def metadata(self) -> Any:
        """The last metadata of all topics; None if it is not known."""
        return self.topics.metadata

    @property
    def is_up(self) -> bool:
        """True if a broker answers, and the metadata is not stale."""
        answered = {broker for broker, _ in self.answers.answered}
        return bool(answered - self.answers.down) and self.metadata is not None

    @property
    def is_complete(self) -> bool:
        """True while all listed brokers answer, and the ends of all logs that groups have committed are known.

        KMinion's `exporter_up` is 0 otherwise.
        """
        if not self.is_up or self.groups.endless:
            return False
        return self.answers.lacking().isdisjoint([broker.node_id for broker in self.metadata.brokers])

    @property
    def controller_id(self) -> int | None:
        """The id of the active controller, UNKNOWN for none; None if it is not known.

        Under KRaft, Metadata names any live broker as the controller. The quorum knows, if the client may see it.
        """
        if self.quorum is not None:
            leader: int = self.quorum.leader_id
            return max(leader, UNKNOWN)
        if self.features is None or any(api.api_key == DescribeQuorumRequest.api_key for api in self.features.api_keys):
            return None
        return max(self.controller, UNKNOWN)


KNOWN_ERRORS = frozenset(map(int, ErrorCode))
UNKNOWN_SERVER_ERROR = -1
NO_TOKENS = frozenset({61, 64})
"""DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the cluster has no tokens, or its listener
without authentication shows none. That is an answer, and not a failure."""
