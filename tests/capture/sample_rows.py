"""Small rows with Metadata responses for the tests of captures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

from kwire import frame
from kwire.capture import Row
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 12
START = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)

_correlation_ids = count(1)


def at(seconds: float) -> datetime:
    """Return the time that many seconds after `START`."""
    return START + timedelta(seconds=seconds)


def metadata(
    *leaders: int, brokers: Sequence[int] = (1, 2, 3), controller: int = 1, cluster: str | None = "cluster-one"
) -> MetadataResponse:
    """Return a response with one topic per leader (`topic-0`, ...), each with partitions 0 and 1."""
    return MetadataResponse(
        brokers=tuple(MetadataResponseBroker(node_id=id, host="127.0.0.1", port=9000 + id) for id in brokers),
        cluster_id=cluster,
        controller_id=controller,
        topics=tuple(
            MetadataResponseTopic(
                error_code=0,
                name=f"topic-{number}",
                partitions=tuple(
                    MetadataResponsePartition(
                        error_code=0,
                        partition_index=index,
                        leader_id=leader,
                        leader_epoch=leader,
                        replica_nodes=(1, 2, 3),
                        isr_nodes=(leader,),
                    )
                    for index in (0, 1)
                ),
            )
            for number, leader in enumerate(leaders)
        ),
    )


def payload(message: MetadataResponse, version: int = VERSION) -> bytes:
    """Return the payload of a response with a new correlation id."""
    return frame.encode_response(message, version=version, correlation_id=next(_correlation_ids))[4:]


def request(topics: tuple[()] | None = None) -> bytes:
    """Return the payload of a request with a new correlation id."""
    message = MetadataRequest(topics=topics)
    return frame.encode_request(message, version=VERSION, correlation_id=next(_correlation_ids))[4:]


def response_row(seconds: float, message: MetadataResponse, broker: int = 1) -> Row:
    """Return a row with a response."""
    return Row(
        polled_at=at(seconds),
        broker_id=broker,
        endpoint=f"127.0.0.1:{9000 + broker}",
        api_key=3,
        api_version=VERSION,
        frame=payload(message),
        request=request(),
        duration_us=1500,
    )


def error_row(seconds: float, broker: int = 1) -> Row:
    """Return a row of a failed poll."""
    return response_row(seconds, metadata(), broker)._replace(frame=None, error="response: no answer within 2.0 s")


def decoded(row: Row) -> MetadataResponse:
    """Return the decoded response of a row with a frame."""
    assert row.frame is not None
    return frame.decode_response(row.frame, MetadataResponse, version=row.api_version).message
