"""Known values of one cluster, from the answers of its brokers.

    answers of brokers    checked by `cluster_requests`, stored, and marked as changed
    time                  `drop_stale`: values whose answer is too old are dropped
    the series            `cluster_view` renders what changed

Values come from other programs. A number is used as a name or as a value, and never as a size; a part that makes no
sense is unknown. Whatever fails nevertheless ends only the sequence of requests that got it (`take_failure`).
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client.admin.internal_topics import GROUPS, SHARE_STATES, TRANSACTIONS
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.metadata import events
from kwire.protocol import ConnectionFault, NoCommonVersion
from kwire_admin.exporter.answers import AnswerLog, Source
from kwire_admin.exporter.group_table import GroupTable
from kwire_admin.exporter.offset_history import UNKNOWN
from kwire_admin.exporter.topic_table import OFFSETS, TopicTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kwire.client.poll import Poll
    from kwire.declare import Message
    from kwire_admin.exporter.topic_record import MonitoredTopic, SavedHistory

__all__ = ["BrokerValues", "ObservedCluster", "Selection"]

COORDINATED = frozenset({GROUPS, TRANSACTIONS, SHARE_STATES})
"""The topics whose leaders are coordinators."""
METADATA = 3
"""The API key of Metadata."""
RENDERING = "rendering"
"""The rendering of the series, in place of a sequence of requests."""
EVENTS = tuple(name for name in events.__all__ if name != "MetadataEvent")


class Selection:
    """The topics and groups that have series, and the level of detail.

    Args:
        level: 0 for the cluster and groups, 1 with topics, 2 with partitions, 3 with their leaders and replicas.
        topics: expression that the whole name of a topic must match.
        groups: expression that the whole id of a group must match.
        excluded_topics: expression that it must not match; None for none.
        excluded_groups: expression that it must not match; None for none.
        max_series: maximum number of series of a cluster.

    Raises:
        re.error: an expression is invalid.
    """

    def __init__(
        self,
        level: int = 2,
        topics: str = ".*",
        groups: str = ".*",
        excluded_topics: str | None = None,
        excluded_groups: str | None = None,
        max_series: int = 1_000_000,
    ) -> None:
        self.level = level
        self.max_series = max_series
        self.has_topic = _matcher(topics, excluded_topics)
        self.has_group = _matcher(groups, excluded_groups)


def _matcher(include: str, exclude: str | None) -> Callable[[str], bool]:
    """Return a function that returns whether a name matches `include` and not `exclude`."""
    included = re.compile(include)
    excluded = None if exclude is None else re.compile(exclude)
    return lambda name: bool(included.fullmatch(name)) and not (excluded is not None and excluded.fullmatch(name))


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
        selection: see above.
        clock: see above.
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
        self.selection, self.clock = selection, clock
        self.answers = AnswerLog(clock)
        self.events: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self.restarts = 0
        self.saved: dict[str, SavedHistory] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all values. Counters go on."""
        self.answers.forget_values()
        self.topics = TopicTable(self.selection.has_topic, self.clock)
        self.groups = GroupTable(self.selection.has_group, self.selection.has_topic, self.clock)
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

    def accepts(self, broker: int, request: type[Message], source: Source, error_code: int) -> bool:
        """Return whether a response has no error, and renews its answer; else the request failed."""
        if error_code:
            # A name that a broker can choose freely would be a series each time.
            name = ErrorCode(error_code).name if error_code in KNOWN_ERRORS else "UNKNOWN"
            self.answers.fail(broker, request.api_key, name)
            return False
        self.answers.renew(broker, source)
        return True

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
        now = self.clock()
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

    # Time

    @property
    def has_changed(self) -> bool:
        """True if topics, groups, or the brokers that answer changed since the last rendering took the marks."""
        return self.topics.has_changed or self.groups.changes.has_any or self.answers.has_changed

    def forget_brokers(self, polled: Collection[int]) -> None:
        """Drop the values of brokers that are not polled any more."""
        for broker in self.answers.forget(polled):
            for source in Source:
                self._drop(broker, source)

    def drop_stale(self) -> None:
        """Drop the values of answers that were not renewed in time: they may be wrong by now."""
        for broker, source in self.answers.take_stale():
            self._drop(broker, source)
        self.topics.drop_offline()
        self.groups.drop_refused(self.answers.max_age(Source.OFFSETS))
        if not self.answers.is_fresh(Source.METADATA):
            self.topics.drop_metadata()
        if not self.answers.is_fresh(Source.CONFIGS):
            self.topics.drop_configs()
        if not self.answers.is_fresh(Source.QUORUM):
            self.quorum = None
        if not self.answers.is_fresh(Source.FEATURES):
            self.features, self.release = None, ""
        if not self.answers.is_fresh(Source.TOKENS):
            self.tokens = ()

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
