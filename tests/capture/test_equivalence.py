"""Equivalent responses: equal bytes without correlation id and controller, or equal elements in any order."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kwire import frame
from kwire.capture import Capture, NoFullFrame, Row, RowKind
from kwire.capture.equivalence import is_same_poll
from kwire.messages.kafka.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kwire.messages.kip4.structures import Broker as PlainBroker
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as PlainPartition
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as PlainTopic
from tests.capture.sample_rows import at, error_row, metadata, payload, request, response_row

FRAMES = Path(__file__).parent.parent / "data" / "frames.jsonl.xz"


def kinds(folder: Path, *rows: Row) -> list[str | None]:
    with Capture(folder) as capture:
        return [capture.append(row).kind for row in rows]


def test_other_correlation_id_and_controller_is_same(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        first = capture.append(response_row(0, metadata(1, 2, controller=1)))
        second = capture.append(response_row(1, metadata(1, 2, controller=3)))

    assert (first.kind, first.controller_id, first.cluster_id) == ("full", 1, "cluster-one")
    assert (second.kind, second.controller_id, second.cluster_id) == ("same", 3, "cluster-one")
    assert first.frame is not None
    assert second.frame is None


@pytest.mark.parametrize("version", range(14))
def test_controller_is_found_in_every_version(tmp_path: Path, version: int) -> None:
    def row(seconds: float, controller: int) -> Row:
        bare = response_row(seconds, metadata())
        message = metadata(1, 2, controller=controller)
        return bare._replace(api_version=version, frame=payload(message, version=version), request=None)

    with Capture(tmp_path) as capture:
        stored = [capture.append(row(seconds, controller)) for seconds, controller in enumerate((1, 3, 77))]

    assert [row.kind for row in stored] == ["full", "same", "same"]
    assert [row.controller_id for row in stored] == ([1, 3, 77] if version >= 1 else [None] * 3)


def test_elements_in_another_order_are_same(tmp_path: Path) -> None:
    message = metadata(1, 2, 3)
    reordered = replace(
        message,
        brokers=message.brokers[::-1],
        topics=tuple(replace(topic, partitions=topic.partitions[::-1]) for topic in message.topics[::-1]),
    )

    assert kinds(
        tmp_path,
        response_row(0, message),
        response_row(1, reordered),
        response_row(2, reordered),
        response_row(3, message),
    ) == [
        "full",
        "same",
        "same",
        "same",
    ]


def test_replicas_in_another_order_are_full(tmp_path: Path) -> None:
    message = metadata(1)
    [topic] = message.topics
    swapped = tuple(replace(partition, replica_nodes=(2, 1, 3)) for partition in topic.partitions)
    other = replace(message, topics=(replace(topic, partitions=swapped),))

    assert kinds(tmp_path, response_row(0, message), response_row(1, other)) == ["full", "full"]


def test_swapped_leaders_are_full(tmp_path: Path) -> None:
    """Length and sum of bytes are equal, content is not."""
    assert kinds(tmp_path, response_row(0, metadata(1, 2)), response_row(1, metadata(2, 1))) == ["full", "full"]


def test_return_to_an_earlier_state_is_full(tmp_path: Path) -> None:
    rows = [response_row(number, metadata(leader)) for number, leader in enumerate((1, 2, 1))]

    assert kinds(tmp_path, *rows) == ["full", "full", "full"]


def test_only_responses_to_one_request_are_compared(tmp_path: Path) -> None:
    row = response_row(0, metadata(1))
    brokers_only = response_row(2, metadata(1))._replace(request=request(topics=()))

    assert (
        kinds(
            tmp_path,
            row,
            response_row(1, metadata(1), broker=2),
            brokers_only,
            response_row(3, metadata(1))._replace(endpoint="127.0.0.1:9999"),
            response_row(4, metadata(1))._replace(cluster_id="another"),
        )
        == ["full"] * 5
    )


def test_failed_poll_in_between_is_ignored(tmp_path: Path) -> None:
    assert kinds(tmp_path, response_row(0, metadata(1)), error_row(1), response_row(2, metadata(1))) == [
        "full",
        "error",
        "same",
    ]


def test_undecodable_responses_are_compared_by_bytes(tmp_path: Path) -> None:
    def garbage(seconds: float, body: bytes) -> Row:
        return response_row(seconds, metadata())._replace(frame=int(seconds).to_bytes(4, "big") + body)

    rows = [
        garbage(0, b"\xff" * 40),
        garbage(1, b"\xff" * 40),
        garbage(2, b"\xff" * 41),
        garbage(3, b""),
        garbage(4, b"\x01\x02"),
        garbage(5, b"\x02\x01"),  # the same sum, and neither can be decoded
        garbage(6, b"")._replace(frame=b"\x01"),
    ]

    assert kinds(tmp_path, *rows) == ["full", "same", "full", "full", "full", "full", "full"]


def test_unknown_tags_are_compared(tmp_path: Path) -> None:
    """A response with an unknown field differs from the one without it."""
    plain = payload(metadata(1))
    assert plain.endswith(b"\x00")
    tagged = response_row(1, metadata())._replace(frame=plain[:-1] + b"\x01\x07\x01\xaa")
    differing = response_row(3, metadata())._replace(frame=plain[:-1] + b"\x01\x07\x01\xab")

    assert kinds(tmp_path, response_row(0, metadata(1)), tagged, tagged._replace(polled_at=at(2)), differing) == [
        "full",
        "full",
        "same",
        "full",
    ]


def test_describe_cluster_may_name_another_controller(tmp_path: Path) -> None:
    nodes = tuple(DescribeClusterBroker(broker_id=id, host="127.0.0.1", port=9000 + id) for id in (1, 2, 3))

    def row(seconds: float, controller: int, brokers: tuple[DescribeClusterBroker, ...]) -> Row:
        message = DescribeClusterResponse(
            throttle_time_ms=0, error_code=0, cluster_id="cluster-one", controller_id=controller, brokers=brokers
        )
        encoded = frame.encode_response(message, version=2, correlation_id=int(seconds))[4:]
        return response_row(seconds, metadata())._replace(api_key=60, api_version=2, frame=encoded)

    assert kinds(tmp_path, row(0, 1, nodes), row(1, 2, nodes), row(2, 3, nodes[::-1]), row(3, 3, nodes[:2])) == [
        "full",
        "same",
        "same",
        "full",
    ]


def test_kip4_replicas_keep_their_order(tmp_path: Path) -> None:
    def row(seconds: float, *replicas: int, brokers: tuple[int, ...] = (1, 2)) -> Row:
        lags = tuple(ReplicaLag(replica_id=id, lag=0) for id in replicas)
        partition = PlainPartition(partition_error_code=0, partition_id=0, leader=1, replicas_lag=lags, isr=(1,))
        message = TopicMetadataResponse_V1(
            brokers=tuple(PlainBroker(node_id=id, host="127.0.0.1", port=9000 + id) for id in brokers),
            topics=(PlainTopic(topic_error_code=0, topic_name="t", partitions=(partition,), config_entries=()),),
        )
        encoded = frame.encode_response(message, version=1, correlation_id=int(seconds))[4:]
        return response_row(seconds, metadata())._replace(dialect="kip4", api_version=1, frame=encoded)

    assert kinds(tmp_path, row(0, 1, 2), row(1, 1, 2, brokers=(2, 1)), row(2, 2, 1)) == ["full", "same", "full"]


def test_same_row_of_the_caller_needs_a_full_one(tmp_path: Path) -> None:
    known = response_row(1, metadata(1))._replace(frame=None, kind=RowKind.SAME, controller_id=2)

    with Capture(tmp_path) as capture:
        with pytest.raises(NoFullFrame) as raised:
            capture.append(known)
        capture.append(response_row(0, metadata(1)))
        stored = capture.append(known)

    assert raised.value.endpoint == "127.0.0.1:9001"
    assert (stored.kind, stored.cluster_id, stored.controller_id) == ("same", "cluster-one", 2)


def test_row_never_refers_to_a_later_one(tmp_path: Path) -> None:
    """A reader that sorts by time would use the wrong frame."""
    rows = [
        response_row(6, metadata(1)),
        response_row(5, metadata(2)),
        response_row(5.5, metadata(2)),
        response_row(7, metadata(2)),
    ]

    assert kinds(tmp_path, *rows, response_row(8, metadata(2))) == ["full", "full", "full", "full", "same"]


@pytest.mark.parametrize(
    "wrong",
    [
        response_row(0, metadata(1))._replace(error="and an error"),
        error_row(0)._replace(error=None),
        response_row(0, metadata(1))._replace(polled_at=at(0).replace(tzinfo=None)),
    ],
    ids=["both", "neither", "naive time"],
)
def test_contradictory_row_is_rejected(tmp_path: Path, wrong: Row) -> None:
    with Capture(tmp_path) as capture:
        with pytest.raises(ValueError, match=r"either a frame or an error|has no time zone"):
            capture.append(wrong)
        capture.append(response_row(1, metadata(1)))

        assert capture.next_row == 1


def test_repeated_responses_of_real_brokers_are_same(tmp_path: Path) -> None:
    """Metadata responses recorded from 3.9.1 and 4.4.0, each appended twice: the second is never stored in full."""
    found: Counter[str | None] = Counter()
    with Capture(tmp_path) as capture, lzma.open(FRAMES, "rt") as lines:
        for number, line in enumerate(lines):
            exchange = json.loads(line)
            if exchange["api_key"] != 3 or not exchange["response_hex"]:
                continue
            row = response_row(2 * number, metadata(), broker=number)._replace(
                api_version=exchange["api_version"], frame=bytes.fromhex(exchange["response_hex"])
            )
            capture.append(row)
            assert row.frame is not None
            found[capture.append(row._replace(polled_at=at(2 * number + 1), frame=b"else" + row.frame[4:])).kind] += 1

    assert set(found) == {"same"}
    assert found["same"] > 100


def test_poll_is_same_whatever_its_correlation_id_and_kind() -> None:
    row = response_row(0, metadata(1, 2))
    assert row.frame is not None
    assert row.request is not None
    renumbered = row._replace(
        frame=b"\x07" * 4 + row.frame[4:], request=row.request[:4] + b"\x07" * 4 + row.request[8:], kind=RowKind.FULL
    )

    assert is_same_poll(row, renumbered)
    assert is_same_poll(row, row._replace(frame=None, kind=RowKind.SAME))
    assert is_same_poll(row, row._replace(request=None))
    assert is_same_poll(row, row._replace(endpoint="another-name:9092"))
    assert is_same_poll(row, response_row(0, metadata(1, 2, controller=3)))


def test_polls_differ_by_time_broker_request_or_content() -> None:
    row = response_row(0, metadata(1, 2))

    assert not is_same_poll(row, response_row(1, metadata(1, 2)))
    assert not is_same_poll(row, row._replace(broker_id=row.broker_id + 1))
    assert not is_same_poll(row, row._replace(request=b"another request"))
    assert not is_same_poll(row, response_row(0, metadata(1, 2, 3)))
    assert not is_same_poll(row, row._replace(frame=None, error="refused"))
    unknown = row._replace(broker_id=-1)
    assert not is_same_poll(unknown, unknown._replace(endpoint="another-name:9092"))
