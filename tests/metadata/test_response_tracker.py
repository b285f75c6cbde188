"""What one broker told: an answer in which everything is gone is not believed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire import DecodeError, frame
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kip4.structures import Broker
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1, TopicMetadataResponse_V1
from kwire.metadata.events import LeaderMoved, TopicRemoved
from kwire.metadata.response_tracker import CONFIRMED_AFTER, ResponseTracker, TrackedResponse
from kwire.protocol import Endpoint, ReceivedResponse, SentRequest
from tests.metadata.test_diff import BROKERS, ID, metadata, partition, topic

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = metadata(topic("a"), topic("b"))
NO_TOPICS = metadata()
NOTHING = metadata(brokers=(), controller=-1)


def answer(message: MetadataResponse, version: int = 12) -> ReceivedResponse[MetadataResponse]:
    sent = SentRequest(7, MetadataRequest(topics=None), MetadataResponse, version, b"")
    payload = frame.encode_response(message, version=version, correlation_id=7)[4:]
    return ReceivedResponse(Endpoint("h", 1), sent, payload, 5 if version >= 9 else 4)


def seen(
    view: ResponseTracker, *messages: MetadataResponse, others: tuple[ResponseTracker, ...] = ()
) -> Iterator[TrackedResponse]:
    """Answers that come a tenth of a second after each other."""
    for n, message in enumerate(messages):
        yield view.take(answer(message), n / 10, kraft=False, others=others)


def test_the_first_answer_is_believed_and_differs_from_nothing() -> None:
    [first] = seen(ResponseTracker(), FULL)
    assert (first.message, first.events, first.same, first.suspect) == (FULL, (), False, False)
    assert first.changes.first


def test_an_answer_like_the_last_is_the_same() -> None:
    _, again = seen(ResponseTracker(), FULL, metadata(topic("b"), topic("a"), controller=2))
    assert again.same


@pytest.mark.parametrize("empty", [NO_TOPICS, NOTHING], ids=["no topics", "nothing"])
def test_an_empty_answer_in_between_is_passed_over(empty: MetadataResponse) -> None:
    changed = metadata(topic("a", partition(leader=2, epoch=6)), topic("b"))
    _, doubted, doubted_again, after = seen(ResponseTracker(), FULL, empty, empty, changed)
    assert (doubted.suspect, doubted.events, doubted.same) == (True, (), False)
    assert (doubted_again.suspect, doubted_again.events, doubted_again.same) == (True, (), True)
    assert (after.suspect, after.events) == (False, (LeaderMoved("a", 0, 1, 2, 5, 6),))


def test_one_that_stays_is_believed_after_a_while() -> None:
    view = ResponseTracker()
    view.take(answer(FULL), 0.0, kraft=False)
    assert view.take(answer(NO_TOPICS), 1.0, kraft=False).suspect
    assert view.take(answer(NO_TOPICS), 1.0 + CONFIRMED_AFTER / 2, kraft=False).suspect
    believed = view.take(answer(NO_TOPICS), 1.0 + CONFIRMED_AFTER, kraft=False)
    assert not believed.suspect
    assert believed.events == (TopicRemoved("a", ID), TopicRemoved("b", ID))
    assert view.take(answer(NO_TOPICS), 9.0, kraft=False).events == ()


def test_one_that_another_broker_gives_too_is_believed_at_once() -> None:
    one, other = ResponseTracker(), ResponseTracker()
    list(seen(one, FULL, NO_TOPICS))
    _, believed = seen(other, FULL, NO_TOPICS, others=(one,))
    assert not believed.suspect
    assert len(believed.events) == 2


def test_a_first_answer_is_doubted_when_others_know_better() -> None:
    """Or its second would tell every topic of the cluster as new."""
    other = ResponseTracker()
    list(seen(other, FULL))
    doubted, after = seen(ResponseTracker(), NO_TOPICS, FULL, others=(other,))
    assert doubted.suspect
    assert (after.suspect, after.events) == (False, ())


def test_a_cluster_may_have_no_topics_but_not_no_brokers() -> None:
    [first] = seen(ResponseTracker(), NO_TOPICS)
    assert not first.suspect
    [first] = seen(ResponseTracker(), NOTHING)
    assert first.suspect


def test_another_version_after_a_restart_is_compared_with_the_one_before() -> None:
    view = ResponseTracker()
    view.take(answer(FULL, version=5), 0.0, kraft=False)  # no epochs, no ids
    again = view.take(answer(FULL), 1.0, kraft=False)
    assert again.events == ()
    moved = view.take(answer(metadata(topic("a", partition(leader=3)), topic("b")), version=8), 2.0, kraft=False)
    assert moved.events == (LeaderMoved("a", 0, 1, 3, 5, 5),)


def test_an_answer_in_another_dialect_is_a_first_one() -> None:
    """As of the next cluster, when the broker that was asked has failed."""
    view = ResponseTracker()
    list(seen(view, FULL, NO_TOPICS))
    other = TopicMetadataResponse_V1(brokers=(Broker(node_id=1, host="h", port=1),), topics=())
    sent = SentRequest(7, TopicMetadataRequest_V1(topic_names=()), TopicMetadataResponse_V1, 1, b"")
    payload = frame.encode_response(other, version=1, correlation_id=7)[4:]
    first = view.take(ReceivedResponse(Endpoint("h", 1), sent, payload, 4), 0.2, kraft=False)
    assert (first.message, first.events, first.same, first.suspect) == (other, (), False, False)
    assert first.changes.first
    assert view.take(answer(FULL), 0.3, kraft=False).changes.first


def test_what_cannot_be_read_changes_nothing() -> None:
    view = ResponseTracker()
    list(seen(view, FULL))
    good = answer(FULL)
    with pytest.raises(DecodeError):
        view.take(good._replace(payload=good.payload[:-1]), 1.0, kraft=False)
    assert view.believed == FULL
    readable = view.take(answer(FULL), 2.0, kraft=False)
    assert (readable.events, readable.same) == ((), False)  # not the same as what nobody could read
    assert view.take(answer(FULL), 3.0, kraft=False).same


def test_unchanged_parts_are_the_same_objects() -> None:
    one, two = seen(ResponseTracker(), FULL, metadata(topic("a", partition(leader=2)), topic("b")))
    assert isinstance(one.message, MetadataResponse)
    assert isinstance(two.message, MetadataResponse)
    assert [change[1].name for change in two.changes.arrays["topics"].changed] == ["a"]
    assert two.message.brokers == BROKERS
