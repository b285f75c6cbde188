"""From bronze to silver, without Spark: rows of bronze in order of time become rows of silver's tables.

Rules of this file: a walk looks at each row once, in order of time per broker, and holds one last message a request and
one view a broker. What a broker told before the walk began is given to it by `seed`, in the rows that an earlier walk's
`state` gave: then only differences leave; a walk without a past begins with the full state.

An answer that lists no topics, or no brokers, of a broker that knew some is *suspect*: a restarted Kafka 3.9 tells
that before its controller has told it anything. It changes nothing until the next answer of that broker, if that one
agrees. An answer that cannot be read is a row of `bad_frames` and as good as no answer.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from struct import unpack_from
from typing import TYPE_CHECKING, Any

from kwire import Decoder, decode, encode, frame
from kwire.capture.rows import RowKind
from kwire.declare.introspect import describe
from kwire.errors import DecodeError, KwireError, path_text
from kwire.messages import UnknownMessage, find
from kwire.spark.broker_state import BrokerState, number_of, resource_of, settings_of
from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.capture import Row
    from kwire.capture.rows import RequestKey
    from kwire.declare import Message

LIST_OFFSETS, METADATA, API_VERSIONS, DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS, DESCRIBE_CLUSTER = 2, 3, 18, 32, 35, 60
SETTINGS = "settings in force"
QUESTIONS = 16
"""For the settings of how many different lists of resources a broker is remembered to have been asked."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
AROUND = 32


class _Last:
    """The last full answer to a request. ``questions``: see `StateBuilder._tell`."""

    __slots__ = ("message", "row", "trusted")

    def __init__(self, row: Row, message: Message, trusted: Row | None) -> None:
        self.row = row
        self.message = message
        self.trusted = trusted
        """The row of the answer that is believed instead, while this one is suspect."""


class StateBuilder:
    """``rows``: for each table of silver the rows since they were taken last, values in the order of its columns;
    times in microseconds since 1970. Whoever walks may take them away at any time (`take`).
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SILVER_SCHEMAS}
        self._views: dict[tuple[str, int, str], BrokerState] = {}
        self._last: dict[RequestKey, _Last] = {}
        self._in_force: dict[tuple[str, int, str, object], RequestKey] = {}
        self._clusters: dict[tuple[int, str], str] = {}
        self._decoders: dict[tuple[str, str, int], Decoder[Any]] = {}

    def take(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows so far; they are not kept."""
        taken = {name: rows[:] for name, rows in self.rows.items()}
        for rows in self.rows.values():
            rows.clear()
        return taken

    def seed(self, rows: Iterable[Row]) -> None:
        """Learn what was told before, from the rows that ``state`` gave."""
        for row in rows:
            if row.error == SETTINGS:
                view = self._view(row)
                for result in self._message(row).results:
                    view.tell_resource(0, resource_of(result), settings_of(result))
            elif row.api_key == DESCRIBE_CONFIGS:
                self._learn_question(row)
            else:
                self.apply(row._replace(kind=RowKind.CARRIED))
        for view in self._views.values():
            view.forget_samples()
        for kept in self.rows.values():
            kept.clear()

    def state(self) -> list[Row]:
        """What another walk needs to go on from here, as rows of bronze of kind 'carried', in order of time: the last
        answer to each request, of a suspect one also the one before; and for each broker the settings in force, in an
        answer made up (its error is `SETTINGS`), since what they are was told by many answers.
        """
        rows = []
        for last in self._last.values():
            if last.trusted is not None:
                rows.append(last.trusted._replace(kind=RowKind.CARRIED))
            rows.append(last.row._replace(kind=RowKind.CARRIED))
        rows += [_settings_row(view, rows) for view in self._views.values() if view.configs]
        return sorted(rows, key=lambda row: row.polled_at)

    def end(self) -> None:
        """Add what only the end tells: the lag of minutes under way."""
        for view in self._views.values():
            view.end_minutes()

    def apply(self, row: Row) -> Row:
        """One row of bronze; the row as it is to be kept, with its cluster and kind."""
        row = _with_kind(row)
        if row.kind == "error":
            row = row._replace(cluster_id=self._cluster(row, None))
            self._poll(row, error=row.error)
            return row
        if row.kind == "same":
            row = row._replace(cluster_id=self._cluster(row, None))
            last = self._last.get(row.request_key)
            if last is None:
                self._bad(row, "no_full_frame", None, "", b"")
                return row
            self._hear(row, last.message)
            return row
        payload = row.frame or b""
        try:
            message = self._message(row)
        except UnknownMessage:
            kind = "unknown_version" if _is_known(row) else "unknown_api"
            fault: tuple[str, int | None, str] = kind, None, ""
        except DecodeError as error:
            fault = error.kind, error.offset, path_text(error.path)
        else:
            row = row._replace(cluster_id=self._cluster(row, message))
            if row.controller_id is None:
                row = row._replace(controller_id=getattr(message, "controller_id", None))
            self._hear(row, message)
            return row
        row = row._replace(cluster_id=self._cluster(row, None))
        kind, offset, path = fault
        place = offset or 0
        self._bad(row, kind, offset, path, payload[max(place - AROUND, 0) : place + AROUND])
        return row

    # What an answer says

    def _message(self, row: Row) -> Any:
        """Decode the payload of a row. Raises UnknownMessage, DecodeError."""
        payload = row.frame or b""
        version = row.api_version
        cls = find(row.dialect, api_key=row.api_key, version=version, kind="response")
        header = 4 + describe(cls).header_version(version)
        if row.api_key == API_VERSIONS or len(payload) < header or payload[4:header].strip(b"\0"):
            return frame.decode_response(payload, cls, version=version).message
        body = memoryview(payload)[header:]
        try:
            if row.api_key != METADATA:
                return decode(cls, body, version=version)
            # Asked often and large: what has not changed since this broker's last answer is the same objects.
            asked = row.endpoint, row.dialect, version
            if asked not in self._decoders:
                self._decoders[asked] = Decoder(cls, version=version)
            return self._decoders[asked].decode(body)
        except DecodeError as error:
            raise DecodeError(error.kind, error.offset + header, error.path, error.wanted, error.left) from None

    def _hear(self, row: Row, message: Any) -> None:
        """Take a message for what this broker says at that time."""
        view = self._view(row)
        key = row.request_key
        at = microseconds(row.polled_at)
        before = self._last.get(key)
        topics: tuple[Any, ...] | None = None
        changed: int | None = None
        suspect = False
        trusted = None
        if row.api_key == METADATA:
            topics = message.topics
            changed = 0
            everything = _asks_for_all(row)
            again = before is not None and before.trusted is not None
            suspect = everything and not again and _is_empty(view, message)
            if suspect:
                trusted = before.row if before is not None else None
        if not suspect and not self._is_in_force(row, before, message):
            changed = self._tell(view, at, row, message)
        self._remember(view, row, message, trusted)
        self._poll(
            row,
            topics=None if topics is None else len(topics),
            partitions=None if topics is None else sum([len(topic.partitions) for topic in topics]),
            changed=changed,
            controller_id=getattr(message, "controller_id", None),
            suspect=suspect,
        )

    def _remember(self, view: BrokerState, row: Row, message: Message, trusted: Row | None) -> None:
        key = row.request_key
        before = self._last.get(key)
        if row.frame is not None:
            self._last.pop(key, None)  # so that the newest stands last
            self._last[key] = _Last(row, message, trusted)
            if row.api_key == DESCRIBE_CONFIGS:
                self._forget_questions(view)
        elif before is not None:
            before.trusted = trusted

    def _learn_question(self, row: Row) -> None:
        """The answer to a question for settings, which are known already."""
        message = self._message(row)
        key = row.request_key
        self._last[key] = _Last(row, message, None)
        self._in_force[*_teller(row), key] = key
        self._view(row).asked_configs[key] = {resource_of(result) for result in message.results}

    def _forget_questions(self, view: BrokerState) -> None:
        """Who asks for the settings of the topics that there are just now, asks another question after each change."""
        asked = view.asked_configs
        while len(asked) >= QUESTIONS:
            oldest = next(iter(asked))
            del asked[oldest]
            self._last.pop(oldest, None)
            self._in_force.pop((*view.teller, oldest), None)

    def _is_in_force(self, row: Row, before: _Last | None, message: Message) -> bool:
        """Whether this very message is what the view shows already."""
        place = (*_teller(row), row.api_key if row.api_key != DESCRIBE_CONFIGS else row.request_key)
        in_force = self._in_force.get(place)
        self._in_force[place] = row.request_key
        return (
            before is not None and before.message is message and before.trusted is None and in_force == row.request_key
        )

    def _tell(self, view: BrokerState, at: int, row: Row, message: Any) -> int | None:
        match row.api_key:
            case 3:
                view.tell_brokers(at, message.brokers)
                return view.tell_topics(at, message.topics, all_of_them=_asks_for_all(row))
            case 60:
                if message.error_code == 0:
                    view.tell_members(at, message.brokers)
            case 32:
                view.tell_configs(at, row.request_key, message.results)
            case 18:
                if message.error_code == 0 and message.finalized_features_epoch >= 0:
                    view.tell_features(at, message.finalized_features_epoch, message.finalized_features)
            case 35:
                for directory in message.results:
                    for topic in directory.topics:
                        for replica in topic.partitions:
                            if not replica.is_future_key:
                                view.tell_lag(
                                    at, topic.name, replica.partition_index, row.broker_id, replica.offset_lag
                                )
        return None

    def _view(self, row: Row) -> BrokerState:
        teller = _teller(row)
        view = self._views.get(teller)
        if view is None:
            view = self._views[teller] = BrokerState(teller, self.rows)
        return view

    def _cluster(self, row: Row, message: Message | None) -> str:
        """Told by the row, by the answer, or by the last answer of that broker."""
        known = (
            row.cluster_id or getattr(message, "cluster_id", None) or self._clusters.get((row.broker_id, row.endpoint))
        )
        if not known:
            return ""
        self._clusters[row.broker_id, row.endpoint] = known
        return known

    # Rows about polls

    def _poll(
        self,
        row: Row,
        *,
        topics: int | None = None,
        partitions: int | None = None,
        changed: int | None = None,
        error: str | None = None,
        controller_id: int | None = None,
        suspect: bool = False,
    ) -> None:
        if row.kind == "carried":
            return
        failed = error is not None
        self.rows["polls"].append(
            (
                row.cluster_id,
                microseconds(row.polled_at),
                row.broker_id,
                row.endpoint,
                row.api_key,
                "error" if failed else row.kind,
                topics,
                partitions,
                None if row.frame is None else len(row.frame),
                row.duration_us,
                changed,
                error,
                None if failed else controller_id if row.controller_id is None else row.controller_id,
                suspect,
            )
        )

    def _bad(self, row: Row, kind: str, offset: int | None, path: str, around: bytes) -> None:
        if row.kind == "carried":
            return
        at = microseconds(row.polled_at)
        self.rows["bad_frames"].append(
            (row.cluster_id, at, row.broker_id, row.api_key, row.api_version, kind, offset, path, around)
        )
        where = "" if offset is None else f" at byte {offset}"
        self._poll(row, error=f"unreadable answer: {kind}{where}")


def silver_rows(rows: Iterable[Row], before: Iterable[Row] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of silver that rows of bronze make, which must be in order of time for each broker.

    ``before``: a state to go on from (`StateBuilder.state`). The result has every table of `SILVER_SCHEMAS`, its rows as tuples
    in the order of the columns, times in microseconds since 1970.
    """
    walk = StateBuilder()
    walk.seed(before)
    for row in rows:
        walk.apply(row)
    walk.end()
    return walk.take()


def _settings_row(view: BrokerState, rows: list[Row]) -> Row:
    """The settings that a broker told, as one answer."""
    from kwire.messages.kafka.describe_configs import (
        DescribeConfigsResourceResult,
        DescribeConfigsResponse,
        DescribeConfigsResult,
    )

    like = next(row for row in reversed(rows) if _teller(row) == view.teller)
    results = tuple(
        DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=number_of(kind),
            resource_name=name,
            configs=tuple(
                DescribeConfigsResourceResult(
                    name=key, value=value, read_only=False, config_source=source, is_sensitive=False
                )
                for key, (value, source) in settings.items()
            ),
        )
        for (kind, name), settings in view.configs.items()
    )
    body = encode(DescribeConfigsResponse(throttle_time_ms=0, results=results), version=4)
    return like._replace(
        dialect="kafka",
        api_key=DESCRIBE_CONFIGS,
        api_version=4,
        kind=RowKind.CARRIED,
        frame=bytes(5) + body,
        request=None,
        error=SETTINGS,
    )


def microseconds(time: datetime) -> int:
    """Since 1970, UTC."""
    return (time - _EPOCH) // _MICROSECOND


def _with_kind(row: Row) -> Row:
    """A row that somebody else recorded may lack what goes without saying."""
    if row.kind is None:
        row = row._replace(kind=RowKind.ERROR if row.frame is None else RowKind.FULL)
    if row.frame is None and row.kind in {"full", "carried"}:
        row = row._replace(kind=RowKind.ERROR, error=row.error or "no frame")
    return row if row.dialect else row._replace(dialect="kafka")


def _teller(row: Row) -> tuple[str, int, str]:
    """Who speaks: a broker wherever it listens, or an endpoint while nobody knows which broker it is."""
    return row.cluster_id or "", row.broker_id, "" if row.broker_id >= 0 else row.endpoint


def _is_empty(view: BrokerState, message: Any) -> bool:
    return bool((view.topics and not message.topics) or (view.brokers and not message.brokers))


def _is_known(row: Row) -> bool:
    try:
        find(row.dialect, api_key=row.api_key, kind="response")
    except UnknownMessage:
        return False
    return True


def _asks_for_all(row: Row) -> bool:
    """Whether the request, if it was kept, asks for all topics; rows without a request are taken for such."""
    if row.request is None:
        return True
    known = _ASKED.get(row.request[8:])
    if known is None:
        try:
            asked = frame.decode_request(row.request, row.dialect).message
        except KwireError:
            return True  # the broker understood it; what it asked is told by the answer alone
        topics = getattr(asked, "topics", None) or getattr(asked, "topic_names", None)
        version = unpack_from(">h", row.request, 2)[0]
        known = not topics and (row.dialect == "kip4" or version == 0 or getattr(asked, "topics", None) is None)
        if len(_ASKED) > 1000:
            _ASKED.clear()
        _ASKED[row.request[8:]] = known
    return known


_ASKED: dict[bytes, bool] = {}
