"""Responses of one broker to one request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from kwire import DecodeError, encode
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.messages.kip4.structures import Broker
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1
from kwire.metadata.events import LeaderMoved, TopicAdded, TopicRemoved
from kwire.metadata.response_tracker import ResponseTracker, TrackedResponse
from tests.metadata.responses import BROKERS, ID, metadata, partition, topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message

BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
FULL = metadata(topic("a"), topic("b"))
NO_TOPICS = metadata()
NOTHING = metadata(brokers=(), controller=-1)


def apply(
    tracker: ResponseTracker, message: Message, at: float, *, version: int = 12, all_topics: bool = True
) -> TrackedResponse[Any]:
    """Apply a response that is polled `at` seconds after the first one."""
    return tracker.apply(
        type(message),
        encode(message, version=version),
        version=version,
        at=BEGIN + timedelta(seconds=at),
        kraft=False,
        all_topics=all_topics,
    )


def apply_all(*messages: Message, all_topics: bool = True) -> Iterator[TrackedResponse[Any]]:
    """Apply responses that are polled every tenth of a second."""
    tracker = ResponseTracker()
    for n, message in enumerate(messages):
        yield apply(tracker, message, n / 10, all_topics=all_topics)


def test_first_response_has_no_events() -> None:
    [first] = apply_all(FULL)
    assert (first.message, first.events, first.same, first.suspect) == (FULL, (), False, False)
    assert first.changes.first


def test_response_like_the_last_one_is_the_same() -> None:
    _, again = apply_all(FULL, metadata(topic("b"), topic("a"), controller=2))
    assert again.same


@pytest.mark.parametrize("empty", [NO_TOPICS, NOTHING], ids=["no topics", "nothing"])
def test_suspect_responses_are_skipped(empty: MetadataResponse) -> None:
    changed = metadata(topic("a", partition(leader=2, epoch=6)), topic("b"))
    _, first, second, after = apply_all(FULL, empty, empty, changed)
    assert (first.suspect, first.events, first.same) == (True, (), False)
    assert (second.suspect, second.events, second.same) == (True, (), True)
    assert (after.suspect, after.events) == (False, (LeaderMoved("a", 0, 1, 2, 5, 6),))


def test_confirmed_empty_response_has_events() -> None:
    tracker = ResponseTracker()
    apply(tracker, FULL, 0)
    assert apply(tracker, NO_TOPICS, 1).suspect
    states = [tracker.is_suspect]
    assert apply(tracker, NO_TOPICS, 1.5).suspect
    assert tracker.agreed == FULL
    confirmed = apply(tracker, NO_TOPICS, 2)
    assert not confirmed.suspect
    assert [*states, tracker.is_suspect] == [True, False]
    assert confirmed.events == (TopicRemoved("a", ID), TopicRemoved("b", ID))
    assert tracker.agreed == NO_TOPICS
    assert apply(tracker, NO_TOPICS, 9).events == ()


@pytest.mark.parametrize("empty", [NO_TOPICS, NOTHING], ids=["no topics", "nothing"])
def test_empty_first_response_does_not_make_the_next_one_report_every_topic(empty: MetadataResponse) -> None:
    first, after = apply_all(empty, FULL)
    assert first.suspect
    assert (after.suspect, after.events) == (False, ())


def test_topics_of_a_new_cluster_are_added_after_the_empty_cluster_is_confirmed() -> None:
    tracker = ResponseTracker()
    assert apply(tracker, NO_TOPICS, 0).suspect
    agreed = [tracker.agreed]
    confirmed = apply(tracker, NO_TOPICS, 1)
    assert (confirmed.suspect, confirmed.same, confirmed.events) == (False, True, ())
    assert [*agreed, tracker.agreed] == [None, NO_TOPICS]
    assert apply(tracker, metadata(topic("a")), 2).events == (TopicAdded("a", ID, 1),)


def test_request_that_names_topics_is_not_covered() -> None:
    first, second = apply_all(NO_TOPICS, NOTHING, all_topics=False)
    assert not first.suspect
    assert not second.suspect


def test_named_topics_are_removed_if_they_are_unknown_and_not_if_they_are_not_requested() -> None:
    unknown = topic("a", error=3, id=ID)
    only_b = metadata(topic("b"))
    added, removed, not_requested, again, nameless = list(
        apply_all(
            only_b,
            metadata(topic("a"), topic("b")),
            metadata(unknown, topic("b")),
            metadata(topic("a")),
            FULL,
            metadata(topic(None, error=100), topic("b")),
            all_topics=False,
        )
    )[1:]
    assert added.events == (TopicAdded("a", ID, 1),)
    assert removed.events == (TopicRemoved("a", ID),)
    assert not_requested.events == (TopicAdded("a", ID, 1),)
    assert again.events == ()
    assert nameless.events == ()


def test_responses_in_different_versions_are_compared() -> None:
    tracker = ResponseTracker()
    apply(tracker, FULL, 0, version=5)  # without epochs of leaders and ids of topics
    assert apply(tracker, FULL, 1).events == ()
    moved = apply(tracker, metadata(topic("a", partition(leader=3)), topic("b")), 2, version=8)
    assert moved.events == (LeaderMoved("a", 0, 1, 3, 5, 5),)


def test_first_response_in_another_dialect_has_no_events() -> None:
    """The next bootstrap server may belong to another cluster."""
    tracker = ResponseTracker()
    apply(tracker, FULL, 0)
    apply(tracker, NO_TOPICS, 0.1)
    other = TopicMetadataResponse_V1(brokers=(Broker(node_id=1, host="h", port=1),), topics=())
    first = apply(tracker, other, 0.2, version=1)
    assert (first.message, first.events, first.same, first.suspect) == (other, (), False, True)
    assert first.changes.first
    assert not apply(tracker, other, 1.2, version=1).suspect
    assert apply(tracker, FULL, 1.3).changes.first


def test_invalid_response_changes_nothing() -> None:
    tracker = ResponseTracker()
    apply(tracker, FULL, 0)
    with pytest.raises(DecodeError):
        tracker.apply(MetadataResponse, encode(FULL, version=12)[:-1], version=12, at=BEGIN, kraft=False)
    assert tracker.agreed == FULL
    valid = apply(tracker, FULL, 2)
    assert (valid.events, valid.same) == ((), False)
    assert apply(tracker, FULL, 3).same


def test_unchanged_parts_are_the_same_objects() -> None:
    one, two = apply_all(FULL, metadata(topic("a", partition(leader=2)), topic("b")))
    assert [after.name for _, after in two.changes.arrays["topics"].changed] == ["a"]
    assert two.message.brokers is one.message.brokers
    assert two.message.brokers == BROKERS


def test_other_responses_may_be_empty() -> None:
    empty = DescribeConfigsResponse(throttle_time_ms=0, results=())
    tracker = ResponseTracker()
    assert not apply(tracker, empty, 0, version=4).suspect
