"""What a poller would have told of two real clusters through kills, stops, moves and deletions: what was done, once.

The tapes (tests/data/tapes) are answers of Kafka 3.9.1 with ZooKeeper and of 4.4.0 under KRaft; the truth beside them
says what was done. Among the answers are an empty one of a restarted broker and old views of a woken one.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.metadata.events import (
    BrokerJoined,
    BrokerLeft,
    ControllerMoved,
    MetadataEvent,
    PartitionsAdded,
    PartitionsMissing,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import Endpoint, ReceivedResponse, SentRequest

TAPES = Path(__file__).parents[1] / "data" / "tapes"
BROKERS = (1, 2, 3)


class Told(NamedTuple):
    """By broker: all differences in order; and how many answers were suspect, how many the same."""

    differences: dict[int, list[MetadataEvent]]
    suspect: Counter[int]
    same: int


@cache
def told(tape: str) -> Told:
    views = {broker_id: ResponseTracker() for broker_id in BROKERS}
    differences: dict[int, list[MetadataEvent]] = {broker_id: [] for broker_id in BROKERS}
    suspect: Counter[int] = Counter()
    same = 0
    for row in pq.read_table(TAPES / f"{tape}.parquet").to_pylist():
        if row["api_key"] != 3 or row["frame"] is None:
            continue
        broker_id = row["broker_id"]
        sent = SentRequest(
            row["correlation_id"], MetadataRequest(topics=None), MetadataResponse, row["api_version"], b""
        )
        seen = views[broker_id].take(
            ReceivedResponse(Endpoint.parse(row["endpoint"]), sent, row["frame"], 5),
            row["polled_at"].timestamp(),
            kraft=tape.startswith("kraft"),
            others=[view for other, view in views.items() if other != broker_id],
        )
        differences[broker_id] += seen.events
        suspect[broker_id] += seen.suspect
        same += seen.same
    return Told(differences, +suspect, same)


def done(tape: str, kind: str) -> list[dict[str, Any]]:
    """The details of everything of a kind that was done."""
    with gzip.open(TAPES / f"{tape}.truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        events = map(json.loads, lines)
        return [event["detail"] for event in events if event.get("kind") == kind]


def of(tape: str, broker_id: int, *kinds: type[MetadataEvent]) -> list[Any]:
    return [difference for difference in told(tape).differences[broker_id] if isinstance(difference, kinds)]


EVERYWHERE = pytest.mark.parametrize("broker_id", BROKERS)
BOTH = pytest.mark.parametrize("tape", ["zk39-public", "kraft44-public"])


@BOTH
@EVERYWHERE
def test_topics_come_and_go_once(tape: str, broker_id: int) -> None:
    created = [topic for event in done(tape, "create_topics") for topic in event["topics"]]
    deleted = [topic for event in done(tape, "delete_topics") for topic in event["topics"]]
    made_anew = [event["topic"] for event in done(tape, "recreate_topic")]
    added = [each.topic for each in of(tape, broker_id, TopicAdded) if not each.topic.startswith("__")]
    assert Counter(added) == Counter(created + made_anew)
    assert Counter(each.topic for each in of(tape, broker_id, TopicRemoved)) == Counter(deleted)
    assert of(tape, broker_id, TopicRecreated, PartitionsMissing) == []


@BOTH
@EVERYWHERE
def test_partitions_are_added_once(tape: str, broker_id: int) -> None:
    [event] = done(tape, "add_partitions")
    totals = {each.topic: each.partitions[-1] + 1 for each in of(tape, broker_id, PartitionsAdded)}
    assert totals == event["new_total"]
    assert len(of(tape, broker_id, PartitionsAdded)) == 2


@BOTH
@EVERYWHERE
def test_brokers_go_and_come_as_they_were_stopped_and_started(tape: str, broker_id: int) -> None:
    """A broker that was away itself may have missed what happened meanwhile, and never tells of its own absence."""
    order = {"zk39-public": [3, 2, 2, 1], "kraft44-public": [2, 3, 2]}[tape]
    expected = [(what, away) for away in order if away != broker_id for what in (BrokerLeft, BrokerJoined)]
    assert [(type(each), each.broker_id) for each in of(tape, broker_id, BrokerLeft, BrokerJoined)] == expected


@EVERYWHERE
def test_the_controller_moves_once_under_zookeeper_and_is_not_told_of_under_kraft(broker_id: int) -> None:
    assert of("zk39-public", broker_id, ControllerMoved) == [ControllerMoved(1, 3)]
    assert of("kraft44-public", broker_id, ControllerMoved) == []


def test_the_empty_answer_of_a_restarted_broker_is_suspect_and_no_other_is() -> None:
    assert told("zk39-public").suspect == {1: 1}
    assert told("kraft44-public").suspect == {}


def test_most_answers_say_nothing_new() -> None:
    assert told("zk39-public").same > 900
    assert told("kraft44-public").same > 840
