"""Spans: the bytes of each value."""

from __future__ import annotations

import pytest

from kwire import UnsupportedVersion
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.describe_topic_partitions import DescribeTopicPartitionsRequest
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kip4.describe_topic import DescribeTopicResponse
from kwire.reference import Span, spans
from tests.for_rows import for_rows

TAGGED = bytes.fromhex("0000 02 0012 0000 0003 00 00000007 02 01 08 0000000000000005 63 02 abcd")


def test_every_part_of_a_body_has_a_span() -> None:
    found, error = spans(ApiVersionsResponse, TAGGED, version=3)
    assert error is None
    assert found == [
        Span(("error_code",), 0, 2, "int16", 0),
        Span(("api_keys",), 2, 3, "count", 1),
        Span(("api_keys", 0, "api_key"), 3, 5, "int16", 18),
        Span(("api_keys", 0, "min_version"), 5, 7, "int16", 0),
        Span(("api_keys", 0, "max_version"), 7, 9, "int16", 3),
        Span(("api_keys", 0), 9, 10, "tag count", 0),
        Span(("throttle_time_ms",), 10, 14, "int32", 7),
        Span((), 14, 15, "tag count", 2),
        Span((), 15, 16, "tag", 1),
        Span(("finalized_features_epoch",), 16, 17, "tag size", 8),
        Span(("finalized_features_epoch",), 17, 25, "int64", 5),
        Span((), 25, 26, "tag", 99),
        Span((), 26, 27, "tag size", 2),
        Span((), 27, 29, "unknown tag", b"\xab\xcd"),
    ]


def test_string_span_includes_its_length() -> None:
    body = bytes.fromhex("00000001 0001 74")
    assert spans(MetadataRequest, body, version=0) == (
        [Span(("topics",), 0, 4, "count", 1), Span(("topics", 0, "name"), 4, 7, "string", "t")],
        None,
    )


def test_null_array_has_a_count_of_none() -> None:
    assert spans(MetadataRequest, b"\xff\xff\xff\xff", version=1) == ([Span(("topics",), 0, 4, "count", None)], None)


def test_markers_and_control_bytes_have_spans() -> None:
    found, _ = spans(DescribeTopicPartitionsRequest, bytes.fromhex("01 000007d0 01 0274 00000003 00 00"), version=0)
    assert Span(("cursor",), 5, 6, "marker", 1) in found
    found, _ = spans(DescribeTopicResponse, bytes.fromhex("0015 01 0002 6e6f 00"), version=1)
    assert [span for span in found if span.type == "control"] == [
        Span(("error_description",), 2, 3, "control", True),
        Span(("topic_description",), 7, 8, "control", False),
    ]


def test_each_integer_of_an_array_has_a_span() -> None:
    body = bytes.fromhex(
        "00000000"  # no brokers
        "00000001 0000 0001 74"  # one topic, without error, called t
        "00000001 0000 00000000 00000001"  # its partition 0, led by 1
        "00000002 00000001 00000002"  # replicas
        "00000000"  # none in sync
    )
    found, error = spans(MetadataResponse, body, version=0)
    assert error is None
    replicas = [span for span in found if "replica_nodes" in span.path]
    assert replicas == [
        Span(("topics", 0, "partitions", 0, "replica_nodes"), 27, 31, "count", 2),
        Span(("topics", 0, "partitions", 0, "replica_nodes", 0), 31, 35, "int32", 1),
        Span(("topics", 0, "partitions", 0, "replica_nodes", 1), 35, 39, "int32", 2),
    ]


@for_rows("length", range(len(TAGGED)))
def test_invalid_body_returns_the_spans_before_the_error(length: int) -> None:
    whole, _ = spans(ApiVersionsResponse, TAGGED, version=3)
    found, error = spans(ApiVersionsResponse, TAGGED[:length], version=3)
    assert error is not None
    assert found == whole[: len(found)]
    assert error.offset >= (found[-1].end if found else 0) or error.kind == "count_exceeds_input"


def test_trailing_bytes_are_an_error_after_all_spans() -> None:
    found, error = spans(MetadataRequest, b"\xff\xff\xff\xff\x00", version=1)
    assert len(found) == 1
    assert error is not None
    assert (error.kind, error.offset) == ("trailing_bytes", 4)


def test_versions_are_checked() -> None:
    with pytest.raises(UnsupportedVersion):
        spans(MetadataRequest, b"", version=99)
