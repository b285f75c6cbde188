"""Suspect empty responses, and plausible ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kwire.messages.kafka.describe_cluster import DescribeClusterResponse
from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse
from kwire.messages.kip4.structures import Broker
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1
from kwire.metadata.plausibility import CONFIRMED_AFTER, EmptyResponseFilter
from tests.for_rows import for_rows
from tests.metadata.responses import metadata, topic

if TYPE_CHECKING:
    from kwire.declare import Message

BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
FULL = metadata(topic("a"))
NO_TOPICS = metadata()
NO_BROKERS = metadata(topic("a"), brokers=())
NOTHING = metadata(brokers=())


def suspects(*responses: tuple[float, Message]) -> list[bool]:
    """Return which responses, with their times in seconds, are suspect."""
    responses_filter = EmptyResponseFilter()
    return [responses_filter.is_suspect(message, BEGIN + timedelta(seconds=at)) for at, message in responses]


def test_confirmation_takes_one_second() -> None:
    assert timedelta(seconds=1) == CONFIRMED_AFTER


@for_rows("empty", [NO_TOPICS, NO_BROKERS, NOTHING], ids=["no topics", "no brokers", "nothing"])
def test_empty_response_is_suspect_until_it_is_confirmed(empty: Message) -> None:
    assert suspects((0, FULL), (0.2, empty), (0.4, empty), (1.199999, empty), (1.2, empty), (1.3, empty)) == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]


@for_rows("empty", [NO_TOPICS, NO_BROKERS, NOTHING], ids=["no topics", "no brokers", "nothing"])
def test_first_response_is_suspect_if_it_is_empty(empty: Message) -> None:
    assert suspects((0, empty), (0.5, empty), (1, empty)) == [True, True, False]


def test_plausible_response_ends_the_series() -> None:
    assert suspects((0, NO_TOPICS), (0.9, FULL), (1.5, NO_TOPICS), (2.4, NO_TOPICS), (2.5, NO_TOPICS)) == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_failed_poll_ends_the_series() -> None:
    """The broker may have restarted again, so its next empty response is a first one."""
    responses_filter = EmptyResponseFilter()
    found = []
    for at, message in [(0, FULL), (1, NO_TOPICS), (1.5, None), (2.4, NO_TOPICS), (3.3, NO_TOPICS), (3.4, NO_TOPICS)]:
        if message is None:
            responses_filter.end_series()
        else:
            found.append(responses_filter.is_suspect(message, BEGIN + timedelta(seconds=at)))
    assert found == [False, True, True, True, False]


def test_confirmed_empty_list_can_stay_empty_while_the_other_list_cannot() -> None:
    assert suspects((0, NO_TOPICS), (1, NO_TOPICS), (2, NOTHING), (3, NOTHING), (4, NO_BROKERS)) == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_series_starts_again_if_the_clock_goes_back() -> None:
    assert suspects((10, NO_TOPICS), (5, NO_TOPICS), (5.9, NO_TOPICS), (6, NO_TOPICS)) == [True, True, True, False]


BROKER = Broker(node_id=1, host="h", port=1)


@for_rows(
    ("response", "suspect"),
    [
        (TopicMetadataResponse_V1(brokers=(BROKER,), topics=()), True),
        (ClusterMetadataResponse(error_code=0, brokers=()), True),
        (ClusterMetadataResponse(error_code=0, brokers=(BROKER,)), False),
        (
            DescribeClusterResponse(
                throttle_time_ms=0, error_code=0, error_message=None, cluster_id="c", controller_id=1, brokers=()
            ),
            True,
        ),
    ],
    ids=["topics", "no brokers", "brokers", "described brokers"],
)
def test_other_responses_with_topics_or_brokers_are_covered(response: Message, suspect: bool) -> None:
    assert suspects((0, response)) == [suspect]
