"""Build rows of silver from rows of bronze, without Spark.

- Rows of one broker must be applied in order of time. A `StateBuilder` keeps the last response to each request and one
  `BrokerState` for each reporting broker.
- A slice of the input starts from the state that the slice before it ended with (`StateBuilder.state` and `seed`). Its
  rows are then the changes only. Without a state, the first rows are the full state.
- Empty responses follow the rule of `kwire.metadata.plausibility`, in one series for each broker and request, across
  slices.
- A response that cannot be decoded is a row of `bad_frames` and counts as a failed poll.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire import Decoder, decode, encode, frame
from kwire.capture.rows import RowKind
from kwire.declare.introspect import describe
from kwire.errors import DecodeError, path_text
from kwire.messages import UnknownMessage, find
from kwire.metadata.event_stream import reporter_of
from kwire.metadata.fields import config_fields
from kwire.metadata.plausibility import EmptyResponseFilter
from kwire.metadata.requested_topics import payload_requests_all_topics
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.silver.broker_state import BrokerState, resource_of, resource_type_code
from kwire_pipeline.silver.input_states import GroupOffsetsState, LogDirsState
from kwire_pipeline.silver.poll_gaps import CARRIED_POLL, PollGaps
from kwire_pipeline.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.capture import Row
    from kwire.capture.rows import RequestKey
    from kwire.declare import Message

METADATA, API_VERSIONS, DESCRIBE_CONFIGS, DESCRIBE_LOG_DIRS, DESCRIBE_CLUSTER = 3, 18, 32, 35, 60
CARRIED_CONFIGS = "carried-over configs"
"""The `error` of the row of a state that has a broker's current configs. States on disk have it."""
CONFIG_REQUESTS = 256
"""Maximum number of different DescribeConfigs requests cached for a broker. Chosen, not measured."""
INPUT_REQUESTS = 16
"""Maximum number of different requests with the API key of an input cached for a broker. Chosen, not measured."""
CONTEXT_BYTES = 32
"""Number of bytes before and after an error that `bad_frames` has. Chosen: enough to see the field."""


INPUT_API_KEYS = GroupOffsetsState.api_keys | LogDirsState.api_keys


class _LastResponse(NamedTuple):
    """The last response to a request that was recorded with its bytes."""

    row: Row
    message: Message


class _EmptyResponses:
    """The filter for the responses of one broker to one request, and the rows that bring another filter there.

    `agreed`: the row of the last plausible response; if that is empty, the first row of the suspect series before it.
    `suspect`: the first row of the current suspect series.
    `failed`: the last failed poll that ended a suspect series. A new filter may get a row of that series.
    """

    __slots__ = ("agreed", "failed", "filter", "suspect")

    def __init__(self) -> None:
        self.filter = EmptyResponseFilter()
        self.agreed: tuple[Row, ...] = ()
        self.suspect: Row | None = None
        self.failed: Row | None = None

    def is_suspect(self, row: Row, full_row: Row, message: Message) -> bool:
        """Return whether a response is suspect. `full_row`: the row that has its bytes."""
        if self.filter.is_suspect(message, row.polled_at):
            if self.filter.suspect_since == row.polled_at:  # the first one of a series
                self.suspect = full_row._replace(polled_at=row.polled_at)
            return True
        if self.suspect is not None or full_row is row:
            plausible = full_row._replace(polled_at=row.polled_at)
            first = self.suspect or (self.agreed[0] if self.agreed else None)
            self.agreed = (first, plausible) if self.filter.agreed_is_empty and first is not None else (plausible,)
            self.suspect = None
        return False

    def rows(self) -> tuple[Row, ...]:
        """Return the rows to apply to a new filter, in order of time, without the failed poll."""
        return self.agreed if self.suspect is None else (*self.agreed, self.suspect)

    def end_series(self, failed: Row) -> None:
        """End the current series: a poll failed."""
        if self.suspect is not None:
            self.filter.end_series()
            self.suspect, self.failed = None, failed


class StateBuilder:
    """Applies rows of bronze and collects rows of silver.

    `rows` has for each table of silver the rows since the last `take`: tuples in the order of the columns, times in
    microseconds since 1970.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SILVER_SCHEMAS}
        self._states: dict[tuple[str, int, str, str | None], BrokerState] = {}
        self._last: dict[RequestKey, _LastResponse] = {}
        self._effective_configs: dict[tuple[str, int, str, str | None, object], Message] = {}
        self._empty_responses: dict[tuple[str, int, str, str | None, int], _EmptyResponses] = {}
        self._input_requests: dict[tuple[str, int, str, str | None, int], dict[RequestKey, None]] = {}
        self._poll_gaps = PollGaps()
        self._clusters: dict[tuple[int, str], str] = {}
        self._decoders: dict[tuple[str, str | None, str, int], Decoder[Any]] = {}

    def take(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows so far and forget them."""
        taken = {name: rows[:] for name, rows in self.rows.items()}
        for rows in self.rows.values():
            rows.clear()
        return taken

    def seed(self, rows: Iterable[Row]) -> None:
        """Start from the state that the rows of another builder's `state` describe."""
        for row in rows:
            if row.error == CARRIED_POLL:
                self._poll_gaps.seed(row)
            elif row.error == CARRIED_CONFIGS:
                state = self._state(row)
                for result in self._decode(row).results:
                    state.apply_configs(0, resource_of(result), config_fields(result))
            elif row.api_key == DESCRIBE_CONFIGS:
                self._seed_config_request(row)
            else:
                self.apply(row._replace(kind=RowKind.CARRIED))
        for state in self._states.values():
            state.drop_samples()
        for rows_of_table in self.rows.values():
            rows_of_table.clear()

    def state(self) -> list[Row]:
        """Return what another builder needs to continue from here, as rows of kind 'carried' in order of time.

        These are the last response to each request; the responses, and the failed polls between them, that show which
        empty responses are plausible; for each broker one made-up response with its current configs
        (`CARRIED_CONFIGS`), which come from many responses; and the times of its last polls (`CARRIED_POLL`).
        """
        rows = {id(row): row for empty_response in self._empty_responses.values() for row in empty_response.rows()}
        full_rows = {(row.request_key, row.polled_at) for row in rows.values()}
        responses = [
            *rows.values(),
            *(last.row for last in self._last.values() if (last.row.request_key, last.row.polled_at) not in full_rows),
        ]
        carried = [row._replace(kind=RowKind.CARRIED) for row in responses]
        carried += [_configs_row(state, carried) for state in self._states.values() if state.configs]
        carried += [
            empty_response.failed._replace(kind=RowKind.CARRIED)
            for empty_response in self._empty_responses.values()
            if empty_response.failed
        ]
        return sorted((*carried, *self._poll_gaps.state()), key=lambda row: row.polled_at)

    def end(self) -> None:
        """Add the rows for the lag of the current minutes."""
        for state in self._states.values():
            state.add_current_minutes()

    def has_gap_before(self, row: Row) -> bool:
        """Return whether there is a gap between the polls so far and a row (`poll_gaps`)."""
        return self._poll_gaps.has_gap_before(row._replace(cluster_id=self._cluster(row, None)))

    def apply(self, row: Row) -> Row:
        """Apply a row of bronze and return it with its cluster and kind, as it is to be stored."""
        row = _with_kind(row)
        # 1. A failed poll has no response. It ends a series of empty responses (`plausibility`).
        if row.kind == RowKind.ERROR:
            row = row._replace(cluster_id=self._cluster(row, None))
            responses = self._empty_responses.get((*reporter_of(row), row.api_key))
            if responses is not None:
                responses.end_series(row)
            self._add_poll(row, error=row.error)
            return row
        # 2. An unchanged response has no bytes: the last full one counts again.
        if row.kind == RowKind.SAME:
            row = row._replace(cluster_id=self._cluster(row, None))
            last = self._last.get(row.request_key)
            if last is None:
                self._add_bad_frame(row, "no_full_frame", None, "", b"")
                return row
            self._apply_response(row, last.row, last.message)
            return row
        # 3. Any other response is decoded; if that fails, it becomes a row of `bad_frames` with its surroundings.
        payload = row.frame or b""
        try:
            message = self._decode(row)
        except UnknownMessage:
            kind = "unknown_version" if _is_known(row) else "unknown_api"
            error: tuple[str, int | None, str] = kind, None, ""
        except DecodeError as malformed:
            error = malformed.kind, malformed.offset, path_text(malformed.path)
        else:
            row = row._replace(cluster_id=self._cluster(row, message))
            if row.controller_id is None:
                row = row._replace(controller_id=getattr(message, "controller_id", None))
            self._apply_response(row, row, message)
            return row
        row = row._replace(cluster_id=self._cluster(row, None))
        kind, offset, path = error
        position = offset or 0
        self._add_bad_frame(
            row, kind, offset, path, payload[max(position - CONTEXT_BYTES, 0) : position + CONTEXT_BYTES]
        )
        return row

    # Responses

    def _decode(self, row: Row) -> Any:
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
            # Frequent and large: what did not change since this broker's last response is the same objects.
            key = row.endpoint, row.poller_id, row.dialect, version
            if key not in self._decoders:
                self._decoders[key] = Decoder(cls, version=version)
            return self._decoders[key].decode(body)
        except DecodeError as error:
            raise DecodeError(error.kind, error.offset + header, error.path, error.wanted, error.left) from None

    def _apply_response(self, row: Row, full_row: Row, message: Any) -> None:
        """Apply a response to the state of its broker. `full_row`: the row that has its bytes."""
        state = self._state(row)
        at = microseconds(row.polled_at)
        topics: tuple[Any, ...] | None = message.topics if row.api_key == METADATA else None
        changed: int | None = None if topics is None else 0
        suspect = self._is_suspect(row, full_row, message)
        if not suspect and not self._is_effective(row, message):
            changed = self._apply_to_state(state, at, row, message)
        if full_row is row:
            self._remember(state, row, message)
        self._add_poll(
            row,
            topics=None if topics is None else len(topics),
            partitions=None if topics is None else sum([len(topic.partitions) for topic in topics]),
            changed=changed,
            controller_id=getattr(message, "controller_id", None),
            suspect=suspect,
        )

    def _is_suspect(self, row: Row, full_row: Row, message: Message) -> bool:
        """Return whether a response is suspect."""
        if row.api_key not in {METADATA, DESCRIBE_CLUSTER} or not payload_requests_all_topics(row.request, row.dialect):
            return False
        responses = self._empty_responses.setdefault((*reporter_of(row), row.api_key), _EmptyResponses())
        return responses.is_suspect(row, full_row, message)

    def _remember(self, state: BrokerState, row: Row, message: Message) -> None:
        self._last.pop(row.request_key, None)  # keeps them in order of time
        self._last[row.request_key] = _LastResponse(row, message)
        if row.api_key == DESCRIBE_CONFIGS:
            self._forget_config_requests(state)
        elif row.api_key in INPUT_API_KEYS:
            self._forget_input_requests(row)

    def _forget_input_requests(self, row: Row) -> None:
        """Bound the memory: a request for the offsets of all groups differs after each new group."""
        requests = self._input_requests.setdefault((*reporter_of(row), row.api_key), {})
        requests.pop(row.request_key, None)
        requests[row.request_key] = None
        while len(requests) > INPUT_REQUESTS:
            oldest = next(iter(requests))
            del requests[oldest]
            self._last.pop(oldest, None)

    def _seed_config_request(self, row: Row) -> None:
        """Remember the response to a DescribeConfigs request with configs that are already known."""
        message = self._decode(row)
        key = row.request_key
        self._last[key] = _LastResponse(row, message)
        self._effective_configs[*reporter_of(row), key] = message
        self._state(row).requested_resources[key] = {resource_of(result) for result in message.results}

    def _forget_config_requests(self, state: BrokerState) -> None:
        """Bound the memory: a request for the configs of all topics differs after each new topic."""
        requested = state.requested_resources
        while len(requested) >= CONFIG_REQUESTS:
            oldest = next(iter(requested))
            del requested[oldest]
            self._last.pop(oldest, None)
            self._effective_configs.pop((*state.reporter, oldest), None)

    def _is_effective(self, row: Row, message: Message) -> bool:
        """Return whether the broker's state is this very message already."""
        config_key = (*reporter_of(row), row.api_key if row.api_key != DESCRIBE_CONFIGS else row.request_key)
        effective = self._effective_configs.get(config_key)
        self._effective_configs[config_key] = message
        return effective is message

    def _apply_to_state(self, state: BrokerState, at: int, row: Row, message: Any) -> int | None:
        match row.api_key:
            case 3:
                state.apply_brokers(at, message.brokers)
                complete = payload_requests_all_topics(row.request, row.dialect)
                return state.apply_topics(at, message.topics, complete=complete)
            case 60:
                # An error has empty arrays, which would remove every broker.
                if message.error_code == 0:
                    state.apply_registrations(at, message.brokers)
            case 32:
                state.apply_resources(at, row.request_key, message.results)
            case 18:
                if message.error_code == 0 and message.finalized_features_epoch >= 0:
                    state.apply_features(at, message.finalized_features_epoch, message.finalized_features)
            case 35:
                for topic in chain.from_iterable(directory.topics for directory in message.results):
                    for replica in topic.partitions:
                        if not replica.is_future_key:
                            lag = replica.offset_lag
                            state.apply_lag(at, topic.name, replica.partition_index, row.broker_id, lag)
        state.apply_input(at, message)
        return None

    def _state(self, row: Row) -> BrokerState:
        reporter = reporter_of(row)
        if reporter not in self._states:
            self._states[reporter] = BrokerState(reporter, self.rows)
        return self._states[reporter]

    def _cluster(self, row: Row, message: Message | None) -> str:
        """Return the cluster id of the row, of the response, or of the last response of that broker."""
        cluster_id = (
            row.cluster_id or getattr(message, "cluster_id", None) or self._clusters.get((row.broker_id, row.endpoint))
        )
        if not cluster_id:
            return ""
        self._clusters[row.broker_id, row.endpoint] = cluster_id
        return cluster_id

    # Polls

    def _add_poll(
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
        if row.kind == RowKind.CARRIED:
            return
        if (gap := self._poll_gaps.add(row)) is not None:
            self.rows["poll_gaps"].append(gap)
        failed = error is not None
        self.rows["polls"].append(
            (
                row.cluster_id,
                microseconds(row.polled_at),
                row.broker_id,
                row.endpoint,
                row.api_key,
                str(RowKind.ERROR if failed else row.kind),
                topics,
                partitions,
                None if row.frame is None else len(row.frame),
                row.duration_us,
                changed,
                error,
                None if failed else controller_id if row.controller_id is None else row.controller_id,
                suspect,
                row.clock_step_us,
                row.poller_id,
            )
        )

    def set_aside(self, row: Row, *, is_ahead: bool) -> None:
        """Add the row of `bad_frames` about a poll that is not applied because its poller's clock was wrong."""
        self._add_bad_row(row, "clock_ahead" if is_ahead else "clock_behind")

    def _add_bad_frame(self, row: Row, kind: str, offset: int | None, path: str, around: bytes) -> None:
        if row.kind == RowKind.CARRIED:
            return
        self._add_bad_row(row, kind, offset, path, around)
        where = "" if offset is None else f" at byte {offset}"
        self._add_poll(row, error=f"unreadable answer: {kind}{where}")

    def _add_bad_row(
        self, row: Row, kind: str, offset: int | None = None, path: str = "", around: bytes | None = None
    ) -> None:
        poll = row.cluster_id, microseconds(row.polled_at), row.broker_id, row.api_key, row.api_version
        self.rows["bad_frames"].append((*poll, kind, offset, path, around, row.poller_id))


def _configs_row(state: BrokerState, rows: list[Row]) -> Row:
    """Return the current configs of a broker as one response, newer than the other rows of the broker.

    A broker's configs come from many responses, each about some resources. One made-up response keeps the state small
    and lets the next builder apply it like any other.
    """
    from kwire.messages.kafka.describe_configs import (
        DescribeConfigsResourceResult,
        DescribeConfigsResponse,
        DescribeConfigsResult,
    )

    newest = max((row for row in rows if reporter_of(row) == state.reporter), key=lambda row: row.polled_at)
    results = tuple(
        DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=resource_type_code(kind),
            resource_name=name,
            configs=tuple(
                DescribeConfigsResourceResult(
                    name=key, value=value, read_only=False, config_source=source, is_sensitive=False
                )
                for key, (value, source) in configs.items()
            ),
        )
        for (kind, name), configs in state.configs.items()
    )
    body = encode(DescribeConfigsResponse(throttle_time_ms=0, results=results), version=4)
    return newest._replace(
        dialect="kafka",
        api_key=DESCRIBE_CONFIGS,
        api_version=4,
        kind=RowKind.CARRIED,
        # The header of a flexible response: a correlation id of 0 and no tags.
        frame=bytes(5) + body,
        request=None,
        error=CARRIED_CONFIGS,
        clock_step_us=None,
    )


def _with_kind(row: Row) -> Row:
    """Fill in the kind and dialect of a row that was recorded by another program."""
    if row.kind is None:
        row = row._replace(kind=RowKind.ERROR if row.frame is None else RowKind.FULL)
    if row.frame is None and row.kind in {RowKind.FULL, RowKind.CARRIED}:
        row = row._replace(kind=RowKind.ERROR, error=row.error or "no frame")
    return row if row.dialect else row._replace(dialect="kafka")


def _is_known(row: Row) -> bool:
    """Return whether the API key of a row has a message in any version."""
    try:
        find(row.dialect, api_key=row.api_key, kind="response")
    except UnknownMessage:
        return False
    return True
