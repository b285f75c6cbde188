"""Silver from bronze without Spark: rows are the changes only, and the input can be cut into slices anywhere."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import encode, frame
from kwire.capture import Row, RowKind
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.silver.state_builder import StateBuilder
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from tests.pipeline.recorded import RECORDINGS, bronze, silver_rows

BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
BROKERS = tuple(MetadataResponseBroker(node_id=id, host=f"b{id}", port=9092, rack=None) for id in (1, 2, 3))
ONE, OTHER = UUID(int=1), UUID(int=2)


def partition(
    index: int, *, leader: int = 1, isr: tuple[int, ...] = (1, 2), epoch: int = 0
) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0, partition_index=index, leader_id=leader, leader_epoch=epoch, replica_nodes=(1, 2), isr_nodes=isr
    )


def topic(name: str, *partitions: MetadataResponsePartition, topic_id: UUID = ONE) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=0, name=name, topic_id=topic_id, partitions=partitions)


def response(
    second: float,
    *topics: MetadataResponseTopic,
    brokers: tuple[MetadataResponseBroker, ...] = BROKERS,
    broker_id: int = 1,
    request: bytes | None = None,
) -> Row:
    message = MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=topics)
    return Row(
        BEGIN + timedelta(seconds=second),
        broker_id,
        f"b{broker_id}:9092",
        3,
        12,
        frame=bytes(5) + encode(message, version=12),
        request=request,
    )


def columns_of(rows: dict[str, list[tuple[Any, ...]]], table: str, *columns: str) -> list[tuple[Any, ...]]:
    names = [column.name for column in SILVER_SCHEMAS[table].columns]
    places = [names.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in rows[table]]


def test_first_rows_are_the_full_state() -> None:
    rows = silver_rows([response(0, topic("t", partition(0), partition(1)))])

    assert columns_of(rows, "brokers", "node_id", "change", "host") == [(id, "set", f"b{id}") for id in (1, 2, 3)]
    assert columns_of(rows, "topics", "topic", "topic_id", "partitions", "replication_factor") == [
        ("t", "AAAAAAAAAAAAAAAAAAAAAQ", 2, 2)
    ]
    assert columns_of(rows, "partitions", "at", "partition", "leader", "isr") == [
        (microseconds(BEGIN), 0, 1, (1, 2)),
        (microseconds(BEGIN), 1, 1, (1, 2)),
    ]
    assert columns_of(rows, "polls", "kind", "topics", "partitions", "changed_topics", "controller_id") == [
        ("full", 1, 2, 1, 1)
    ]


def test_rows_are_the_silver_and_order_has_no_meaning() -> None:
    first = response(0, topic("a", partition(0), partition(1)), topic("b", partition(0)))
    second = response(
        1, topic("b", partition(0)), topic("a", partition(1, isr=(1,)), partition(0)), brokers=BROKERS[::-1]
    )

    rows = silver_rows([first, second])

    assert columns_of(rows, "partitions", "topic", "partition", "change", "isr")[3:] == [("a", 1, "set", (1,))]
    assert len(rows["topics"]) == 2
    assert len(rows["brokers"]) == 3
    assert columns_of(rows, "polls", "changed_topics") == [(2,), (1,)]


def test_removed_topic_is_gone_with_its_last_fields() -> None:
    rows = silver_rows(
        [
            response(0, topic("a", partition(0)), topic("b", partition(0, leader=2))),
            response(1, topic("a", partition(0))),
        ]
    )

    assert columns_of(rows, "topics", "topic", "change")[2:] == [("b", "gone")]
    assert columns_of(rows, "partitions", "topic", "change", "leader")[2:] == [("b", "gone", 2)]


def test_recreated_topic_has_new_partitions() -> None:
    before = topic("t", partition(0, epoch=3), partition(1))
    after = topic("t", partition(0), topic_id=OTHER)

    rows = silver_rows([response(0, before), response(1, after)])

    assert columns_of(rows, "topics", "topic_id")[1:] == [("AAAAAAAAAAAAAAAAAAAAAg",)]
    assert columns_of(rows, "partitions", "partition", "topic_id", "change")[2:] == [
        (0, "AAAAAAAAAAAAAAAAAAAAAg", "set"),
        (1, "AAAAAAAAAAAAAAAAAAAAAQ", "gone"),
    ]


@pytest.mark.parametrize(
    "empty", [response(1), response(1, topic("t", partition(0)), brokers=())], ids=["topics", "brokers"]
)
def test_empty_response_is_suspect_until_it_is_confirmed(empty: Row) -> None:
    full = response(0, topic("t", partition(0)))
    again = empty._replace(polled_at=BEGIN + timedelta(seconds=2))

    unconfirmed = silver_rows([full, empty, full._replace(polled_at=BEGIN + timedelta(seconds=2))])
    confirmed = silver_rows([full, empty, again])

    assert columns_of(unconfirmed, "polls", "suspect") == [(False,), (True,), (False,)]
    assert [row for name in ("brokers", "topics", "partitions") for row in columns_of(unconfirmed, name, "change")] == [
        ("set",)
    ] * 5
    gone = [
        row for name in ("brokers", "topics") for row in columns_of(confirmed, name, "at", "change") if row[1] == "gone"
    ]
    assert gone
    assert {at for at, _ in gone} == {microseconds(BEGIN) + 2_000_000}


def test_same_row_confirms_a_suspect_response() -> None:
    full = response(0, topic("t", partition(0)))
    same = response(2)._replace(frame=None, kind=RowKind.SAME, cluster_id="c")

    rows = silver_rows([full._replace(cluster_id="c"), response(1)._replace(cluster_id="c"), same])

    assert columns_of(rows, "topics", "at", "change")[1:] == [(microseconds(BEGIN) + 2_000_000, "gone")]


def test_unknown_topic_that_is_requested_by_name_has_one_gone_row() -> None:
    named = MetadataRequest(topics=(MetadataRequestTopic(name="a"),))
    request = frame.encode_request(named, version=12, correlation_id=9)[4:]
    unknown = replace(topic("a"), error_code=3)
    polls = [unknown, topic("a", partition(0)), unknown, unknown]

    rows = silver_rows([response(at, each, request=request) for at, each in enumerate(polls)])

    assert columns_of(rows, "topics", "topic", "change", "error_code") == [("a", "set", 0), ("a", "gone", 0)]
    assert columns_of(rows, "partitions", "partition", "change") == [(0, "set"), (0, "gone")]


def test_state_restores_an_empty_cluster_that_was_confirmed() -> None:
    """The first slice ends after the confirmation; the next one starts with another empty response."""
    first = StateBuilder()
    for at in (0, 0.5, 1.5):
        first.apply(response(at))
    rows = silver_rows([response(2, brokers=BROKERS[:2]), response(3, topic("t", partition(0)))], first.state())

    assert columns_of(rows, "polls", "suspect") == [(False,), (False,)]
    assert columns_of(rows, "topics", "change") == [("set",)]


def test_state_restores_the_start_of_a_suspect_series() -> None:
    first = StateBuilder()
    first.apply(response(0, topic("t", partition(0)))._replace(cluster_id="c"))
    first.apply(response(1)._replace(cluster_id="c"))
    same = response(1.5)._replace(frame=None, kind=RowKind.SAME, cluster_id="c")
    first.apply(same)
    second = StateBuilder()
    second.seed(first.state())
    assert second.apply(same._replace(polled_at=BEGIN + timedelta(seconds=1.75))).kind == "same"
    rows = silver_rows([same._replace(polled_at=BEGIN + timedelta(seconds=2))], second.state())

    assert columns_of(rows, "polls", "suspect") == [(False,)]
    assert columns_of(rows, "topics", "change") == [("gone",)]


def test_state_restores_the_end_of_a_suspect_series() -> None:
    """The failed poll ends the series, and the rows after it repeat the response before it."""
    first = StateBuilder()
    first.apply(response(0, topic("t", partition(0)))._replace(cluster_id="c"))
    empty = response(1)._replace(cluster_id="c")
    first.apply(empty)
    same = empty._replace(frame=None, kind=RowKind.SAME)
    first.apply(same._replace(polled_at=BEGIN + timedelta(seconds=1.5), kind=RowKind.ERROR, error="refused"))
    first.apply(same._replace(polled_at=BEGIN + timedelta(seconds=2.5)))
    rows = silver_rows([same._replace(polled_at=BEGIN + timedelta(seconds=at)) for at in (3, 3.5)], first.state())

    assert columns_of(rows, "polls", "suspect") == [(True,), (False,)]
    assert columns_of(rows, "topics", "change") == [("gone",)]


def test_request_that_names_topics_does_not_remove_others() -> None:
    certain = MetadataRequest(topics=(MetadataRequestTopic(name="a"),))
    request = frame.encode_request(certain, version=12, correlation_id=9)[4:]
    everything = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=9)[4:]
    both = response(0, topic("a", partition(0)), topic("b", partition(0)), request=everything)

    rows = silver_rows([both, response(1, topic("a", partition(0, leader=2)), request=request)])

    assert columns_of(rows, "topics", "topic", "change") == [("a", "set"), ("b", "set")]
    assert columns_of(rows, "partitions", "topic", "leader")[2:] == [("a", 2)]


def test_invalid_response_is_a_bad_frame() -> None:
    good = response(0, topic("t", partition(0)))
    assert good.frame is not None
    torn = good._replace(frame=good.frame[:-3], polled_at=BEGIN + timedelta(seconds=1))
    newer = good._replace(api_version=99, polled_at=BEGIN + timedelta(seconds=2))
    unknown = good._replace(api_key=999, polled_at=BEGIN + timedelta(seconds=3))
    orphan = response(4)._replace(frame=None, kind=RowKind.SAME, broker_id=2)

    rows = silver_rows([good, torn, newer, unknown, orphan])

    assert columns_of(rows, "bad_frames", "kind") == [
        ("truncated",),
        ("unknown_version",),
        ("unknown_api",),
        ("no_full_frame",),
    ]
    [(offset, path, around)] = columns_of(rows, "bad_frames", "offset", "path", "bytes")[:1]
    assert isinstance(offset, int)
    assert isinstance(path, str)
    assert path.startswith("topics[0]")
    assert around == torn.frame[max(offset - 32, 0) : offset + 32]  # type: ignore[index]  # it has a frame
    assert columns_of(rows, "polls", "kind", "topics")[1:] == [("error", None)] * 4
    assert len(rows["partitions"]) == 1


def test_failed_poll_is_a_row_of_polls() -> None:
    silent = Row(BEGIN, 1, "b1:9092", 3, 12, error="connect: refused")

    rows = silver_rows([silent])

    assert columns_of(rows, "polls", "cluster_id", "kind", "error") == [("", "error", "connect: refused")]


def poll_gaps(*seconds: float, duration_s: float = 0.0, restart_at: int = 0) -> list[tuple[object, ...]]:
    """Return the gaps between polls at these times: beginning and end in seconds, and the number of missed polls."""
    polls = [response(at, topic("t", partition(0)))._replace(duration_us=int(duration_s * 1_000_000)) for at in seconds]
    first = StateBuilder()
    for poll in polls[:restart_at]:
        first.apply(poll)
    rows = [first.take(), silver_rows(polls[restart_at:], first.state())]
    begin = microseconds(BEGIN)
    columns = "last_polled_at", "polled_at", "missed_polls"
    gaps = [gap for tables in rows for gap in columns_of(tables, "poll_gaps", *columns)]
    return [((start - begin) / 1e6, (end - begin) / 1e6, missed) for start, end, missed in gaps]


def test_time_without_polls_is_a_row() -> None:
    assert poll_gaps(0, 5, 10, 100, 105) == [(10, 100, 17)]
    assert poll_gaps(0, 1, 2, 16) == []  # 14 s
    assert poll_gaps(0, 60, 120, 400, 460) == []  # less than five intervals
    assert poll_gaps(0, 60, 120, 180, 600, 660, 1200) == [(180, 600, 6), (660, 1200, 8)]
    assert poll_gaps(0, 1000) == []  # no interval is usual yet


def test_gap_across_ingests_is_a_row() -> None:
    for restart_at in range(6):
        assert poll_gaps(0, 5, 10, 100, 105, restart_at=restart_at) == [(10, 100, 17)]


def test_slow_response_does_not_make_a_gap() -> None:
    assert poll_gaps(0, 1, 2, 18) == [(2, 18, 15)]
    assert poll_gaps(0, 1, 2, 18, duration_s=4) == []


def test_gaps_count_metadata_by_poller() -> None:
    full = topic("t", partition(0))
    polls = [response(at, full) for at in range(0, 100, 5)]
    others = [response(at, full)._replace(poller_id="other") for at in (1, 6, 11, 81)]
    configs = [response(at)._replace(api_key=32, api_version=4, frame=None, error="closed") for at in (2, 3, 4, 40)]

    rows = silver_rows(sorted([*polls, *others, *configs], key=lambda poll: poll.polled_at))

    assert columns_of(rows, "poll_gaps", "poller_id", "broker_id", "usual_interval_us") == [("other", 1, 5_000_000)]


@pytest.mark.parametrize("recording", ["zk39-public", "kraft44-public"])
@settings(max_examples=10)
@given(cut=st.integers(0, 1268))
def test_recording_can_be_cut_anywhere(recording: str, cut: int) -> None:
    rows = bronze(recording)
    first = StateBuilder()
    for row in rows[:cut]:
        first.apply(row)
    before = first.take()

    after = silver_rows(rows[cut:], first.state())

    for name, whole in silver_of(recording).items():
        if name != "lag":  # the minute of the cut has two rows
            assert sorted(before[name] + after[name], key=repr) == whole


_silver: dict[str, dict[str, list[tuple[object, ...]]]] = {}


def silver_of(recording: str) -> dict[str, list[tuple[object, ...]]]:
    if recording not in _silver:
        _silver[recording] = {name: sorted(rows, key=repr) for name, rows in silver_rows(bronze(recording)).items()}
    return _silver[recording]


def test_recordings_exist() -> None:
    assert {path.name for path in RECORDINGS.glob("*.parquet")} == {"zk39-public.parquet", "kraft44-public.parquet"}
