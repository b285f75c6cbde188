"""The poller, `kwire replay`, and the Spark pipeline derive the same events from the same responses.

An event stream does not know whether a cluster runs KRaft, and silver has no events of controllers, so the poller's
responses are applied as those of a KRaft cluster, without `ControllerMoved`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwire import encode, frame
from kwire.capture import Capture, Row, read
from kwire.capture.rows import to_rows
from kwire.capture.table_import import read_rows
from kwire.messages import find
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kwire.messages.kip4 import structures
from kwire.messages.kip4.topic_metadata_v1 import (
    PartitionMetadata,
    ReplicaLag,
    TopicMetadata,
    TopicMetadataRequest_V1,
    TopicMetadataResponse_V1,
)
from kwire.metadata.event_stream import EventStream
from kwire.metadata.events import ConfigChanged, LeaderMoved, TopicAdded, TopicRemoved
from kwire.metadata.requested_topics import requests_all_topics
from kwire.metadata.response_tracker import ResponseTracker, TrackedResponse
from kwire.metadata.timestamps import microseconds
from kwire.storage.location import Location
from kwire_pipeline.silver.state_builder import StateBuilder
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from tests.metadata.responses import BROKERS, ID, OTHER_ID, metadata, partition, topic
from tests.pipeline.recorded import NAMES, bronze, silver_rows
from tests.pipeline.silver.silver_events import TimedEvent, silver_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.declare import Message
    from kwire.metadata.events import MetadataEvent

BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
ALL_TOPICS = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)[4:]
NAMED = frame.encode_request(
    MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in "ab")), version=12, correlation_id=1
)[4:]

FULL = metadata(topic("a"), topic("b", id=OTHER_ID))
MOVED = metadata(topic("a", partition(leader=2, epoch=6), partition(1)), topic("b", id=OTHER_ID))
WITHOUT_B = metadata(topic("a"))
RECREATED = metadata(topic("a", id=OTHER_ID), topic("b", id=ID))
FEWER_BROKERS = metadata(topic("a", partition(isr=(1,), offline=(2, 3))), brokers=BROKERS[:1])
FAILED = metadata(replace(topic("a"), error_code=5, partitions=()), topic("b", id=OTHER_ID))
NO_TOPICS = metadata()
NO_BROKERS = replace(FULL, brokers=())
NOTHING = metadata(brokers=(), controller=-1)


def row(at: float, message: Message | None, *, broker_id: int = 1, request: bytes = ALL_TOPICS) -> Row:
    """Return a poll `at` seconds after the first one; without a message, a failed one."""
    kip4 = isinstance(message, TopicMetadataResponse_V1)
    version, header = (1, 4) if kip4 else (12, 5)
    return Row(
        BEGIN + timedelta(seconds=at),
        broker_id,
        f"broker-{broker_id}:9092",
        3,
        version,
        frame=None if message is None else bytes(header) + encode(message, version=version),
        request=request,
        error="refused" if message is None else None,
        cluster_id="c",
        dialect="kip4" if kip4 else "kafka",
    )


# The three ways from responses to events


def poller_events(rows: Iterable[Row], *, first_configs: bool = True) -> list[TimedEvent]:
    """Return the events of a poller: it tracks the responses of each broker to each of its requests.

    Args:
        first_configs: true to include events of resources that had no configs before (`silver_events`).
    """
    trackers: dict[tuple[object, ...], ResponseTracker] = {}
    events = []
    for row in rows:
        if row.frame is None:
            for key, tracker in trackers.items():
                if key[0] == row.broker_id:
                    tracker.no_response(row.api_key)
            continue
        version = row.api_version
        decoded = frame.decode_request(row.request, row.dialect).message if row.request else None
        response = find(row.dialect, api_key=row.api_key, version=version, kind="response")
        tracker = trackers.setdefault((row.broker_id, row.api_key, row.request and row.request[8:]), ResponseTracker())
        tracked = tracker.apply(
            response,
            row.frame[4 if row.dialect == "kip4" else 5 :],
            version=version,
            at=row.polled_at,
            kraft=True,
            all_topics=decoded is None or requests_all_topics(decoded, version),
        )
        events += [
            TimedEvent(microseconds(row.polled_at), row.broker_id, event)
            for event in tracked.events
            if first_configs or not _is_first_config(event, tracked)
        ]
    return events


def _is_first_config(event: MetadataEvent, tracked: TrackedResponse[Any]) -> bool:
    if not isinstance(event, ConfigChanged) or "results" not in tracked.changes.arrays:
        return False
    resources = tracked.changes.arrays["results"].changed
    return event.resource in {before.resource_name for before, _ in resources if not before.configs}


def replay_events(folder: Path) -> list[TimedEvent]:
    """Return the events that `kwire replay` reports for a capture."""
    stream = EventStream()
    return [
        TimedEvent(microseconds(event.at), event.broker_id, event.event)
        for row in read_rows(Location.parse(folder))
        for event in stream.events(row)
        if event.event is not None
    ]


def spark_events(rows: Sequence[Row], cuts: Sequence[int] = ()) -> list[TimedEvent]:
    """Return the events in the silver of rows of bronze, which are built in slices."""
    silver: dict[str, list[tuple[Any, ...]]] = {}
    state: list[Row] = []
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        builder = StateBuilder()
        builder.seed(state)
        for row in rows[start:end]:
            builder.apply(row)
        state = builder.state()
        for table, built in builder.take().items():
            silver.setdefault(table, []).extend(built)
    return list(silver_events(silver))


def by_time(events: Iterable[TimedEvent]) -> list[TimedEvent]:
    return sorted(events, key=repr)


def captured(rows: Iterable[Row], folder: Path) -> list[Row]:
    """Write rows to a capture and return its rows of bronze: repeated responses have no frame there."""
    with Capture(folder) as capture:
        capture.append_many(row._replace(kind=None) for row in rows)
    return [row for batch in read(folder) for row in to_rows(batch) if row.kind != "carried"]


def common_events(rows: Sequence[Row], cuts: Sequence[int] | None = None) -> list[TimedEvent]:
    """Return the events of rows after checking that they are the same in all three ways."""
    expected = by_time(poller_events(rows))
    with TemporaryDirectory() as folder:
        stored = captured(rows, Path(folder))
        assert by_time(replay_events(Path(folder))) == expected
    known = by_time(poller_events(rows, first_configs=False))
    assert by_time(spark_events(rows)) == known
    every_cut = range(1, len(rows)) if cuts is None else cuts
    assert by_time(spark_events(stored, every_cut)) == known
    return expected


# Recordings


@pytest.mark.parametrize("recording", NAMES)
def test_recording_has_the_same_events(recording: str) -> None:
    rows = bronze(recording)
    events = common_events(rows, range(100, len(rows), 300))
    kinds = Counter(type(event.event).__name__ for event in events)
    assert {"BrokerLeft", "BrokerJoined", "TopicAdded", "TopicRemoved", "LeaderMoved", "IsrShrank"} <= kinds.keys()


# Sequences with empty responses

ADDED_AND_REMOVED = [TopicRemoved("a", ID), TopicRemoved("b", OTHER_ID)]


@pytest.mark.parametrize(
    ("polls", "expected"),
    [
        ([(0, FULL), (0.2, NO_TOPICS), (0.4, NO_TOPICS), (0.6, FULL)], []),
        ([(0, FULL), (0.2, NOTHING), (0.4, NO_TOPICS), (0.6, MOVED)], ["LeaderMoved", "PartitionsAdded"]),
        ([(0, FULL), (0.2, NO_TOPICS), (1.1, NO_TOPICS), (1.2, NO_TOPICS)], ["TopicRemoved"] * 2),
        ([(0, FULL), (0.2, NO_TOPICS), (1.3, FULL)], []),
        ([(0, FULL), (0.2, NO_BROKERS), (1.3, NO_BROKERS), (1.4, FULL)], ["BrokerJoined"] * 3 + ["BrokerLeft"] * 3),
        ([(0, NO_TOPICS), (0.5, FULL), (0.6, WITHOUT_B)], ["TopicRemoved"]),
        ([(0, NOTHING), (0.9, FULL)], []),
        ([(0, NO_TOPICS), (1, NO_TOPICS), (1.2, NO_TOPICS), (2, FULL)], ["TopicAdded"] * 2),
        ([(0, FULL), (1, NO_TOPICS), (1.5, FULL), (2.2, NO_TOPICS), (2.9, NO_TOPICS), (3, FULL)], []),
        (
            [(0, FULL), (1, NO_TOPICS), (2, NO_TOPICS), (3, NOTHING), (3.5, NOTHING), (3.9, FULL)],
            ["TopicAdded"] * 2 + ["TopicRemoved"] * 2,
        ),
        ([(0, FULL), (1, NO_TOPICS), (1.5, None), (2.4, NO_TOPICS), (3.3, NO_TOPICS), (3.35, FULL)], []),
        ([(0, FULL), (1, NO_TOPICS), (1.5, None), (2.4, NO_TOPICS), (3.4, NO_TOPICS)], ["TopicRemoved"] * 2),
        ([(0, FULL), (1, RECREATED), (2, FAILED), (3, FEWER_BROKERS)], None),
    ],
    ids=[
        "empty twice within a second",
        "empty in different ways",
        "empty for a second",
        "full after more than a second",
        "no brokers for a second",
        "empty at first",
        "nothing at first",
        "new cluster",
        "two series",
        "no topics, then nothing",
        "two restarts",
        "empty for a second after a failed poll",
        "other changes",
    ],
)
def test_empty_responses_have_the_same_events(
    polls: list[tuple[float, MetadataResponse | None]], expected: list[str] | None
) -> None:
    events = common_events([row(at, message) for at, message in polls])
    if expected is not None:
        assert sorted(type(event.event).__name__ for event in events) == expected


def test_topics_of_a_restarted_broker_are_not_removed() -> None:
    """The response that Kafka 3.9.1 gives for half a second after a start, polled every 0.2 s."""
    rows = [row(0, FULL), row(0.2, NO_TOPICS), row(0.4, NO_TOPICS), row(0.6, FULL)]
    assert common_events(rows) == []
    silver = silver_rows(rows)
    suspect = SILVER_SCHEMAS["polls"].arrow.get_field_index("suspect")
    assert [values[suspect] for values in silver["polls"]] == [False, True, True, False]
    assert {values[4] for values in silver["topics"]} == {"set"}


def test_brokers_are_judged_one_by_one() -> None:
    """An empty response of one broker does not confirm another broker's."""
    polls = [(0, FULL), (0.2, NO_TOPICS), (0.4, NO_TOPICS), (0.6, MOVED)]
    rows = [row(at + broker_id / 100, message, broker_id=broker_id) for at, message in polls for broker_id in (1, 2, 3)]
    events = common_events(rows)
    assert [event.broker_id for event in events if isinstance(event.event, LeaderMoved)] == [1, 2, 3]
    assert not [event for event in events if isinstance(event.event, TopicRemoved | TopicAdded)]


def test_requests_that_name_topics_are_not_covered() -> None:
    unknown = metadata(topic("a"), topic("b", id=OTHER_ID, error=3))
    nothing = replace(NOTHING, topics=(topic("a"),))
    polls = [(0, FULL), (0.1, unknown), (0.2, unknown), (0.3, FULL), (0.4, nothing), (0.5, FULL)]
    events = common_events([row(at, message, request=NAMED) for at, message in polls])
    kinds = Counter(type(event.event).__name__ for event in events)
    assert kinds == {"TopicRemoved": 1, "TopicAdded": 1, "BrokerLeft": 3, "BrokerJoined": 3}


def kip4(*isr: int, lag: int = 0, **configs: str) -> TopicMetadataResponse_V1:
    partitions = PartitionMetadata(
        partition_error_code=0,
        partition_id=0,
        leader=1,
        replicas_lag=tuple(ReplicaLag(replica_id=n, lag=lag) for n in (1, 2)),
        isr=isr,
    )
    entries = tuple(structures.ConfigEntry(config_key=key, config_value=value) for key, value in configs.items())
    described = TopicMetadata(topic_error_code=0, topic_name="a", partitions=(partitions,), config_entries=entries)
    return TopicMetadataResponse_V1(
        brokers=(structures.Broker(node_id=1, host="h", port=1),), topics=(described,) if isr else ()
    )


def test_kip4_responses_have_the_same_events() -> None:
    request = frame.encode_request(TopicMetadataRequest_V1(topic_names=()), version=1, correlation_id=1)[4:]
    responses = [
        (0.0, kip4(1, 2, x="1")),
        (0.2, kip4()),
        (0.4, kip4(1, lag=5, x="1")),
        (0.6, kip4(1, lag=6, x="2", y="3")),
        (0.8, kip4(1, lag=6, y="3")),
        (1.0, kip4()),
        (2.0, kip4()),
    ]
    events = common_events([row(at, message, request=request) for at, message in responses])
    assert [type(event.event).__name__ for event in sorted(events, key=lambda event: event.at)] == [
        "IsrShrank",
        "ConfigChanged",
        "ConfigChanged",
        "ConfigChanged",
        "TopicRemoved",
    ]


RESPONSES: list[MetadataResponse | None] = [
    FULL, MOVED, WITHOUT_B, RECREATED, FEWER_BROKERS, FAILED, NO_TOPICS, NO_TOPICS, NO_BROKERS, NOTHING, None,
]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.3, 0.5, 1.0]), st.sampled_from(RESPONSES), st.sampled_from([1, 2])),
        max_size=14,
    )
)
def test_any_sequence_has_the_same_events(polls: list[tuple[float, MetadataResponse | None, int]]) -> None:
    now = 0.0
    rows = []
    for pause, message, broker_id in polls:
        now += pause
        rows.append(row(now, message, broker_id=broker_id))
    common_events(rows)
