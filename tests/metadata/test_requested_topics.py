"""Requests for metadata of all topics, and of some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import frame
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest
from kwire.messages.kafka.metadata import MetadataRequest, MetadataRequestTopic
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.metadata.requested_topics import payload_requests_all_topics, requests_all_topics
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from kwire.declare import Message


@for_rows(
    ("request_", "version", "expected"),
    [
        (MetadataRequest(topics=None), 12, True),
        (MetadataRequest(topics=()), 0, True),
        (MetadataRequest(topics=()), 1, False),
        (MetadataRequest(topics=(MetadataRequestTopic(name="a"),)), 12, False),
        (MetadataRequest(topics=(MetadataRequestTopic(name="a"),)), 0, False),
        (DescribeClusterRequest(include_cluster_authorized_operations=False), 1, True),
        (DescribeConfigsRequest(resources=()), 4, True),
    ],
    ids=["all", "all in version 0", "none", "named", "named in version 0", "cluster", "configs"],
)
def test_request_for_all_topics_is_recognized(request_: Message, version: int, expected: bool) -> None:
    assert requests_all_topics(request_, version) is expected
    for correlation_id in (1, 2):
        payload = frame.encode_request(request_, version=version, correlation_id=correlation_id)[4:]
        assert payload_requests_all_topics(payload, "kafka") is expected


@for_rows(
    ("request_", "expected"),
    [
        (TopicMetadataRequest_V1(topic_names=()), True),
        (TopicMetadataRequest_V1(topic_names=("a",)), False),
        (ClusterMetadataRequest(), True),
    ],
    ids=["all", "named", "cluster"],
)
def test_kip4_request_for_all_topics_is_recognized(request_: Message, expected: bool) -> None:
    version = type(request_).versions.highest
    assert requests_all_topics(request_, version) is expected
    payload = frame.encode_request(request_, version=version, correlation_id=3)[4:]
    assert payload_requests_all_topics(payload, "kip4") is expected


@for_rows("payload", [None, b"", b"\0\3\0\14\0\0\0\1garbage", b"\x7f\0\0\0\0\0\0\0"])
def test_unknown_request_is_assumed_to_be_for_all_topics(payload: bytes | None) -> None:
    assert payload_requests_all_topics(payload, "kafka")
