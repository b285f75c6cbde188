"""Events of two recorded clusters through kills, stops, moves, and deletions.

The recordings (tests/data/tapes) are responses of Kafka 3.9.1 with ZooKeeper and of Kafka 4.4.0 with KRaft; a file next
to each lists what was done to the cluster. They contain an empty response of a restarted broker and outdated responses
of a resumed one.
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

from kwire.messages.kafka.metadata import MetadataResponse
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

RECORDINGS = Path(__file__).parents[1] / "data" / "tapes"
BROKERS = (1, 2, 3)


class Reported(NamedTuple):
    """The events and the number of suspect responses by broker; the number of responses without a change."""

    events: dict[int, list[MetadataEvent]]
    suspect: Counter[int]
    same: int


@cache
def reported(recording: str) -> Reported:
    trackers = {broker_id: ResponseTracker() for broker_id in BROKERS}
    events: dict[int, list[MetadataEvent]] = {broker_id: [] for broker_id in BROKERS}
    suspect: Counter[int] = Counter()
    same = 0
    for row in pq.read_table(RECORDINGS / f"{recording}.parquet").to_pylist():
        if row["api_key"] != 3 or row["frame"] is None:
            continue
        broker_id = row["broker_id"]
        tracked = trackers[broker_id].apply(
            MetadataResponse,
            row["frame"][5:],
            version=row["api_version"],
            at=row["polled_at"],
            kraft=recording.startswith("kraft"),
        )
        events[broker_id] += tracked.events
        suspect[broker_id] += tracked.suspect
        same += tracked.same
    return Reported(events, +suspect, same)


def actions(recording: str, kind: str) -> list[dict[str, Any]]:
    """Return the details of all actions of a kind."""
    with gzip.open(RECORDINGS / f"{recording}.truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [action["detail"] for action in map(json.loads, lines) if action.get("kind") == kind]


def events_of(recording: str, broker_id: int, *kinds: type[MetadataEvent]) -> list[Any]:
    return [event for event in reported(recording).events[broker_id] if isinstance(event, kinds)]


EACH_BROKER = pytest.mark.parametrize("broker_id", BROKERS)
EACH_RECORDING = pytest.mark.parametrize("recording", ["zk39-public", "kraft44-public"])


@EACH_RECORDING
@EACH_BROKER
def test_topics_are_added_and_removed_once(recording: str, broker_id: int) -> None:
    created = [topic for action in actions(recording, "create_topics") for topic in action["topics"]]
    deleted = [topic for action in actions(recording, "delete_topics") for topic in action["topics"]]
    recreated = [action["topic"] for action in actions(recording, "recreate_topic")]
    added = [event.topic for event in events_of(recording, broker_id, TopicAdded) if not event.topic.startswith("__")]
    assert Counter(added) == Counter(created + recreated)
    assert Counter(event.topic for event in events_of(recording, broker_id, TopicRemoved)) == Counter(deleted)
    assert events_of(recording, broker_id, TopicRecreated, PartitionsMissing) == []


@EACH_RECORDING
@EACH_BROKER
def test_partitions_are_added_once(recording: str, broker_id: int) -> None:
    [action] = actions(recording, "add_partitions")
    totals = {event.topic: event.partitions[-1] + 1 for event in events_of(recording, broker_id, PartitionsAdded)}
    assert totals == action["new_total"]
    assert len(events_of(recording, broker_id, PartitionsAdded)) == 2


@EACH_RECORDING
@EACH_BROKER
def test_brokers_leave_and_join_as_they_are_stopped_and_started(recording: str, broker_id: int) -> None:
    """A broker does not report its own absence."""
    order = {"zk39-public": [3, 2, 2, 1], "kraft44-public": [2, 3, 2]}[recording]
    expected = [(kind, stopped) for stopped in order if stopped != broker_id for kind in (BrokerLeft, BrokerJoined)]
    found = events_of(recording, broker_id, BrokerLeft, BrokerJoined)
    assert [(type(event), event.broker_id) for event in found] == expected


@EACH_BROKER
def test_controller_moves_are_reported_with_zookeeper_only(broker_id: int) -> None:
    assert events_of("zk39-public", broker_id, ControllerMoved) == [ControllerMoved(1, 3)]
    assert events_of("kraft44-public", broker_id, ControllerMoved) == []


def test_empty_responses_of_a_new_cluster_and_of_a_restarted_broker_are_suspect() -> None:
    """Both recordings begin before there are topics: three polls each within the first second, at 2 Hz."""
    assert reported("zk39-public").suspect == {1: 3 + 1, 2: 3, 3: 3}
    assert reported("kraft44-public").suspect == {1: 3, 2: 3, 3: 3}


def test_most_responses_report_no_change() -> None:
    assert reported("zk39-public").same > 900
    assert reported("kraft44-public").same > 840
