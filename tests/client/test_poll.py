"""The values that a poller returns."""

from __future__ import annotations

from datetime import UTC, datetime

from kwire.client import Poll
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseTopic


def test_repr_of_a_poll_is_bounded() -> None:
    topic = MetadataResponseTopic(error_code=0, name="orders", partitions=())
    poll = Poll(
        cluster_id="c",
        broker_id=1,
        endpoint="b:9092",
        polled_at=datetime(2026, 11, 22, tzinfo=UTC),
        duration_us=900,
        message=MetadataResponse(brokers=(), topics=(topic,) * 5000),
        payload=bytes(100_000),
    )

    assert repr(poll).startswith("Poll(cluster_id='c', broker_id=1, endpoint='b:9092', ")
    assert "topics=<5000 MetadataResponseTopic>" in repr(poll)
    assert "payload=<100000 bytes>" in repr(poll)
    assert len(repr(poll)) < 1000
