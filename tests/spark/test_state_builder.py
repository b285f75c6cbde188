"""From bronze to silver without Spark: only what changed leaves, and a walk can be cut anywhere and gone on with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.state_builder import StateBuilder, microseconds, silver_rows
from tests.spark.recorded import RECORDINGS, bronze

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


def answer(
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


def told(rows: dict[str, list[tuple[object, ...]]], table: str, *columns: str) -> list[tuple[object, ...]]:
    names = [column.name for column in SILVER_SCHEMAS[table].columns]
    places = [names.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in rows[table]]


def test_a_walk_begins_with_the_full_state() -> None:
    rows = silver_rows([answer(0, topic("t", partition(0), partition(1)))])

    assert told(rows, "brokers", "node_id", "change", "host") == [(id, "set", f"b{id}") for id in (1, 2, 3)]
    assert told(rows, "topics", "topic", "topic_id", "partitions", "replication_factor") == [
        ("t", "AAAAAAAAAAAAAAAAAAAAAQ", 2, 2)
    ]
    assert told(rows, "partitions", "at", "partition", "leader", "isr") == [
        (microseconds(BEGIN), 0, 1, (1, 2)),
        (microseconds(BEGIN), 1, 1, (1, 2)),
    ]
    assert told(rows, "polls", "kind", "topics", "partitions", "changed_topics", "controller_id") == [
        ("full", 1, 2, 1, 1)
    ]


def test_only_what_changed_leaves_and_order_is_no_change() -> None:
    first = answer(0, topic("a", partition(0), partition(1)), topic("b", partition(0)))
    second = answer(
        1, topic("b", partition(0)), topic("a", partition(1, isr=(1,)), partition(0)), brokers=BROKERS[::-1]
    )

    rows = silver_rows([first, second])

    assert told(rows, "partitions", "topic", "partition", "change", "isr")[3:] == [("a", 1, "set", (1,))]
    assert len(rows["topics"]) == 2
    assert len(rows["brokers"]) == 3
    assert told(rows, "polls", "changed_topics") == [(2,), (1,)]


def test_what_is_no_longer_listed_is_gone_with_its_last_fields() -> None:
    rows = silver_rows(
        [answer(0, topic("a", partition(0)), topic("b", partition(0, leader=2))), answer(1, topic("a", partition(0)))]
    )

    assert told(rows, "topics", "topic", "change")[2:] == [("b", "gone")]
    assert told(rows, "partitions", "topic", "change", "leader")[2:] == [("b", "gone", 2)]


def test_a_topic_made_anew_under_its_name_is_another_topic() -> None:
    before = topic("t", partition(0, epoch=3), partition(1))
    after = topic("t", partition(0), topic_id=OTHER)

    rows = silver_rows([answer(0, before), answer(1, after)])

    assert told(rows, "topics", "topic_id")[1:] == [("AAAAAAAAAAAAAAAAAAAAAg",)]
    assert told(rows, "partitions", "partition", "topic_id", "change")[2:] == [
        (0, "AAAAAAAAAAAAAAAAAAAAAg", "set"),
        (1, "AAAAAAAAAAAAAAAAAAAAAQ", "gone"),
    ]


@pytest.mark.parametrize(
    "empty", [answer(1), answer(1, topic("t", partition(0)), brokers=())], ids=["topics", "brokers"]
)
def test_an_empty_answer_is_suspect_until_the_next_one_agrees(empty: Row) -> None:
    full = answer(0, topic("t", partition(0)))
    again = empty._replace(polled_at=BEGIN + timedelta(seconds=2))

    believed_not = silver_rows([full, empty, full._replace(polled_at=BEGIN + timedelta(seconds=2))])
    believed = silver_rows([full, empty, again])

    assert told(believed_not, "polls", "suspect") == [(False,), (True,), (False,)]
    assert [row for name in ("brokers", "topics", "partitions") for row in told(believed_not, name, "change")] == [
        ("set",)
    ] * 5
    gone = [row for name in ("brokers", "topics") for row in told(believed, name, "at", "change") if row[1] == "gone"]
    assert gone
    assert {at for at, _ in gone} == {microseconds(BEGIN) + 2_000_000}


def test_the_same_answer_said_without_bytes_counts_as_the_second_word() -> None:
    full = answer(0, topic("t", partition(0)))
    same = answer(2)._replace(frame=None, kind=RowKind.SAME, cluster_id="c")

    rows = silver_rows([full._replace(cluster_id="c"), answer(1)._replace(cluster_id="c"), same])

    assert told(rows, "topics", "at", "change")[1:] == [(microseconds(BEGIN) + 2_000_000, "gone")]


def test_a_question_for_certain_topics_tells_nothing_about_others() -> None:
    certain = MetadataRequest(topics=(MetadataRequestTopic(name="a"),))
    request = frame.encode_request(certain, version=12, correlation_id=9)[4:]
    everything = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=9)[4:]
    both = answer(0, topic("a", partition(0)), topic("b", partition(0)), request=everything)

    rows = silver_rows([both, answer(1, topic("a", partition(0, leader=2)), request=request)])

    assert told(rows, "topics", "topic", "change") == [("a", "set"), ("b", "set")]
    assert told(rows, "partitions", "topic", "leader")[2:] == [("a", 2)]


def test_what_cannot_be_read_is_kept_and_counted() -> None:
    good = answer(0, topic("t", partition(0)))
    assert good.frame is not None
    torn = good._replace(frame=good.frame[:-3], polled_at=BEGIN + timedelta(seconds=1))
    newer = good._replace(api_version=99, polled_at=BEGIN + timedelta(seconds=2))
    unknown = good._replace(api_key=999, polled_at=BEGIN + timedelta(seconds=3))
    orphan = answer(4)._replace(frame=None, kind=RowKind.SAME, broker_id=2)

    rows = silver_rows([good, torn, newer, unknown, orphan])

    assert told(rows, "bad_frames", "kind") == [
        ("truncated",),
        ("unknown_version",),
        ("unknown_api",),
        ("no_full_frame",),
    ]
    [(offset, path, around)] = told(rows, "bad_frames", "offset", "path", "bytes")[:1]
    assert isinstance(offset, int)
    assert isinstance(path, str)
    assert path.startswith("topics[0]")
    assert around == torn.frame[max(offset - 32, 0) : offset + 32]  # type: ignore[index]  # it has a frame
    assert told(rows, "polls", "kind", "topics")[1:] == [("error", None)] * 4
    assert len(rows["partitions"]) == 1


def test_silence_is_a_row_of_polls() -> None:
    silent = Row(BEGIN, 1, "b1:9092", 3, 12, error="connect: refused")

    rows = silver_rows([silent])

    assert told(rows, "polls", "cluster_id", "kind", "error") == [("", "error", "connect: refused")]


@pytest.mark.parametrize("tape", ["zk39-public", "kraft44-public"])
@settings(max_examples=10)
@given(cut=st.integers(0, 1268))
def test_a_walk_over_a_recorded_cluster_can_be_cut_anywhere(tape: str, cut: int) -> None:
    rows = bronze(tape)
    first = StateBuilder()
    for row in rows[:cut]:
        first.apply(row)
    before = first.take()

    after = silver_rows(rows[cut:], first.state())

    for name, whole in changes_of(tape).items():
        if name != "lag":  # a minute that was cut has two rows
            assert sorted(before[name] + after[name], key=repr) == whole


_changes: dict[str, dict[str, list[tuple[object, ...]]]] = {}


def changes_of(tape: str) -> dict[str, list[tuple[object, ...]]]:
    if tape not in _changes:
        _changes[tape] = {name: sorted(rows, key=repr) for name, rows in silver_rows(bronze(tape)).items()}
    return _changes[tape]


def test_the_tapes_are_there() -> None:
    assert {path.name for path in RECORDINGS.glob("*.parquet")} == {"zk39-public.parquet", "kraft44-public.parquet"}
