"""What counts as the same answer: equal bytes but for correlation id and controller, or equal elements in any order."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kwire import frame
from kwire.capture import Capture, NoFullFrame, Row
from kwire.messages.kafka.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kwire.messages.kip4.structures import Broker as PlainBroker
from kwire.messages.kip4.topic_metadata_v1 import PartitionMetadata as PlainPartition
from kwire.messages.kip4.topic_metadata_v1 import ReplicaLag, TopicMetadataResponse_V1
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata as PlainTopic
from tests.capture.answers import answer, at, metadata, payload, request, silence

FRAMES = Path(__file__).parent.parent / "data" / "frames.jsonl.xz"


def kinds(folder: Path, *rows: Row) -> list[str | None]:
    with Capture(folder) as capture:
        return [capture.append(row).kind for row in rows]


def test_an_answer_with_other_correlation_id_and_controller_is_the_same(tmp_path: Path) -> None:
    with Capture(tmp_path) as capture:
        first = capture.append(answer(0, metadata(1, 2, controller=1)))
        second = capture.append(answer(1, metadata(1, 2, controller=3)))

    assert (first.kind, first.controller_id, first.cluster_id) == ("full", 1, "cluster-one")
    assert (second.kind, second.controller_id, second.cluster_id) == ("same", 3, "cluster-one")
    assert first.frame is not None
    assert second.frame is None


@pytest.mark.parametrize("version", range(14))
def test_the_controller_is_found_in_every_version_that_tells_it(tmp_path: Path, version: int) -> None:
    def row(seconds: float, controller: int) -> Row:
        bare = answer(seconds, metadata())
        told = metadata(1, 2, controller=controller)
        return bare._replace(api_version=version, frame=payload(told, version=version), request=None)

    with Capture(tmp_path) as capture:
        kept = [capture.append(row(seconds, controller)) for seconds, controller in enumerate((1, 3, 77))]

    assert [row.kind for row in kept] == ["full", "same", "same"]
    assert [row.controller_id for row in kept] == ([1, 3, 77] if version >= 1 else [None] * 3)


def test_brokers_topics_and_partitions_in_another_order_are_the_same(tmp_path: Path) -> None:
    message = metadata(1, 2, 3)
    turned = replace(
        message,
        brokers=message.brokers[::-1],
        topics=tuple(replace(topic, partitions=topic.partitions[::-1]) for topic in message.topics[::-1]),
    )

    assert kinds(tmp_path, answer(0, message), answer(1, turned), answer(2, turned), answer(3, message)) == [
        "full",
        "same",
        "same",
        "same",
    ]


def test_replicas_in_another_order_are_another_answer(tmp_path: Path) -> None:
    message = metadata(1)
    [topic] = message.topics
    swapped = tuple(replace(partition, replica_nodes=(2, 1, 3)) for partition in topic.partitions)
    other = replace(message, topics=(replace(topic, partitions=swapped),))

    assert kinds(tmp_path, answer(0, message), answer(1, other)) == ["full", "full"]


def test_leaders_that_change_places_are_another_answer(tmp_path: Path) -> None:
    """Length and sum of bytes are equal."""
    assert kinds(tmp_path, answer(0, metadata(1, 2)), answer(1, metadata(2, 1))) == ["full", "full"]


def test_going_back_to_an_earlier_state_is_another_answer(tmp_path: Path) -> None:
    rows = [answer(number, metadata(leader)) for number, leader in enumerate((1, 2, 1))]

    assert kinds(tmp_path, *rows) == ["full", "full", "full"]


def test_brokers_versions_and_questions_are_not_mixed_up(tmp_path: Path) -> None:
    row = answer(0, metadata(1))
    brokers_only = answer(2, metadata(1))._replace(request=request(topics=()))

    assert (
        kinds(
            tmp_path,
            row,
            answer(1, metadata(1), broker=2),
            brokers_only,
            answer(3, metadata(1))._replace(endpoint="127.0.0.1:9999"),
            answer(4, metadata(1))._replace(cluster_id="another"),
        )
        == ["full"] * 5
    )


def test_silence_in_between_changes_nothing(tmp_path: Path) -> None:
    assert kinds(tmp_path, answer(0, metadata(1)), silence(1), answer(2, metadata(1))) == ["full", "error", "same"]


def test_what_cannot_be_decoded_is_compared_by_its_bytes(tmp_path: Path) -> None:
    def garbage(seconds: float, body: bytes) -> Row:
        return answer(seconds, metadata())._replace(frame=int(seconds).to_bytes(4, "big") + body)

    rows = [
        garbage(0, b"\xff" * 40),
        garbage(1, b"\xff" * 40),
        garbage(2, b"\xff" * 41),
        garbage(3, b""),
        garbage(4, b"\x01\x02"),
        garbage(5, b"\x02\x01"),  # the same sum, and neither says anything
        garbage(6, b"")._replace(frame=b"\x01"),
    ]

    assert kinds(tmp_path, *rows) == ["full", "same", "full", "full", "full", "full", "full"]


def test_unknown_tags_count(tmp_path: Path) -> None:
    """One with a field that we do not know is not the one without."""
    plain = payload(metadata(1))
    assert plain.endswith(b"\x00")
    tagged = answer(1, metadata())._replace(frame=plain[:-1] + b"\x01\x07\x01\xaa")
    differing = answer(3, metadata())._replace(frame=plain[:-1] + b"\x01\x07\x01\xab")

    assert kinds(tmp_path, answer(0, metadata(1)), tagged, tagged._replace(polled_at=at(2)), differing) == [
        "full",
        "full",
        "same",
        "full",
    ]


def test_describe_cluster_names_a_random_controller_too(tmp_path: Path) -> None:
    nodes = tuple(DescribeClusterBroker(broker_id=id, host="127.0.0.1", port=9000 + id) for id in (1, 2, 3))

    def row(seconds: float, controller: int, brokers: tuple[DescribeClusterBroker, ...]) -> Row:
        told = DescribeClusterResponse(
            throttle_time_ms=0, error_code=0, cluster_id="cluster-one", controller_id=controller, brokers=brokers
        )
        answered = frame.encode_response(told, version=2, correlation_id=int(seconds))[4:]
        return answer(seconds, metadata())._replace(api_key=60, api_version=2, frame=answered)

    assert kinds(tmp_path, row(0, 1, nodes), row(1, 2, nodes), row(2, 3, nodes[::-1]), row(3, 3, nodes[:2])) == [
        "full",
        "same",
        "same",
        "full",
    ]


def test_in_the_other_dialect_replicas_have_an_order_although_they_are_structs(tmp_path: Path) -> None:
    def row(seconds: float, *replicas: int, brokers: tuple[int, ...] = (1, 2)) -> Row:
        lags = tuple(ReplicaLag(replica_id=id, lag=0) for id in replicas)
        partition = PlainPartition(partition_error_code=0, partition_id=0, leader=1, replicas_lag=lags, isr=(1,))
        told = TopicMetadataResponse_V1(
            brokers=tuple(PlainBroker(node_id=id, host="127.0.0.1", port=9000 + id) for id in brokers),
            topics=(PlainTopic(topic_error_code=0, topic_name="t", partitions=(partition,), config_entries=()),),
        )
        answered = frame.encode_response(told, version=1, correlation_id=int(seconds))[4:]
        return answer(seconds, metadata())._replace(dialect="kip4", api_version=1, frame=answered)

    assert kinds(tmp_path, row(0, 1, 2), row(1, 1, 2, brokers=(2, 1)), row(2, 2, 1)) == ["full", "same", "full"]


def test_a_callers_same_without_a_frame_is_taken_where_there_is_a_full_one(tmp_path: Path) -> None:
    known = answer(1, metadata(1))._replace(frame=None, kind="same", controller_id=2)

    with Capture(tmp_path) as capture:
        with pytest.raises(NoFullFrame) as raised:
            capture.append(known)
        capture.append(answer(0, metadata(1)))
        kept = capture.append(known)

    assert raised.value.endpoint == "127.0.0.1:9001"
    assert (kept.kind, kept.cluster_id, kept.controller_id) == ("same", "cluster-one", 2)


def test_after_the_clock_went_back_no_row_refers_to_one_from_the_future(tmp_path: Path) -> None:
    """Or a reader that sorts by time would take the wrong frame for it."""
    rows = [answer(6, metadata(1)), answer(5, metadata(2)), answer(5.5, metadata(2)), answer(7, metadata(2))]

    assert kinds(tmp_path, *rows, answer(8, metadata(2))) == ["full", "full", "full", "full", "same"]


@pytest.mark.parametrize(
    "wrong",
    [
        answer(0, metadata(1))._replace(error="and an error"),
        silence(0)._replace(error=None),
        answer(0, metadata(1))._replace(polled_at=at(0).replace(tzinfo=None)),
    ],
    ids=["both", "neither", "naive time"],
)
def test_a_row_that_contradicts_itself_is_refused(tmp_path: Path, wrong: Row) -> None:
    with Capture(tmp_path) as capture:
        with pytest.raises(ValueError, match=r"either a frame or an error|not aware"):
            capture.append(wrong)
        capture.append(answer(1, metadata(1)))

        assert capture.next_row == 1


def test_answers_of_real_brokers_repeat(tmp_path: Path) -> None:
    """Metadata answers recorded from 3.9.1 and 4.4.0, every one fed twice: never is a second one stored again."""
    found: Counter[str | None] = Counter()
    with Capture(tmp_path) as capture, lzma.open(FRAMES, "rt") as lines:
        for number, line in enumerate(lines):
            exchange = json.loads(line)
            if exchange["api_key"] != 3 or not exchange["response_hex"]:
                continue
            row = answer(2 * number, metadata(), broker=number)._replace(
                api_version=exchange["api_version"], frame=bytes.fromhex(exchange["response_hex"])
            )
            capture.append(row)
            assert row.frame is not None
            found[capture.append(row._replace(polled_at=at(2 * number + 1), frame=b"else" + row.frame[4:])).kind] += 1

    assert set(found) == {"same"}
    assert found["same"] > 100
