"""Answers of valid form and odd content: none ends a task, none makes a page that Prometheus cannot read."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

import kwire
from kwire.client.polled_requests import as_sequence
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, StringType, StructType
from kwire.messages import find
from kwire.messages.kafka.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kwire.messages.kafka.metadata import MetadataResponse
from kwire.metadata.response_tracker import ResponseTracker
from kwire_admin.exporter.cluster_requests import cluster_requests
from kwire_admin.exporter.group_record import UnreadRecord
from kwire_admin.exporter.unread_records import UnreadRecords
from tests.exporter.scraping import give_metadata, scrape, view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.exporter.cluster_view import ClusterView

ANSWERS = 5_000
TEXTS = (
    "", "orders", "shop", "two", "-1", "9" * 400, "a\nb", "a\rb", 'a"b', "a\\b", "\u2028", "\x00", "é" * 50, "Stable",
    "Empty", "consumer", "share", "classic", "streams", "min.insync.replicas", "cleanup.policy", "retention.ms",
    "metadata.version", "Ongoing", "None",
)  # fmt: skip

PLAUSIBLE: dict[str, tuple[Any, ...]] = {
    "error_code": (0,),
    "group_id": ("shop", "cart"),
    "group_type": ("classic", "consumer", "share", "streams"),
    "topic": ("orders", "shop"),
    "topic_name": ("orders", "shop"),
    "resource_name": ("orders", "shop"),
    "partition_index": (0, 1, 2),
}
"""Values of fields by which parts of different answers refer to each other."""


class OddValues:
    """Values of any type of the protocol that are valid in form."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, kind: Any) -> Any:
        """Return a value of a type."""
        draw = self.random
        match kind:
            case NullableType() | MaybeType():
                return None if draw.random() < 0.3 else self.of(kind.inner)
            case ArrayType():
                return tuple(self.of(kind.element) for _ in range(draw.choice((0, 1, 1, 2, 3))))
            case StructType():
                return self.struct(kind.struct)
            case StringType():
                return draw.choice(TEXTS)
            case BytesType():
                return draw.randbytes(draw.choice((0, 3, 40)))
        if kind.name == "uuid":
            return UUID(int=draw.choice((0, 1, 2)))
        if kind.name == "bool":
            return draw.random() < 0.5
        if kind.name == "float64":
            return draw.choice((0.0, -1.0, 1e300))
        bits = int("".join(filter(str.isdigit, kind.name)))
        low, high = (0, 2**bits - 1) if kind.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        near = draw.choice((0, 0, 0, 1, 1, 2, -1, -5, 3, 100_000_000, low, high, draw.randint(low, high)))
        return min(max(near, low), high)

    def struct(self, cls: type) -> Any:
        """Return an instance of a struct or message. Parts that belong together do so more often than not."""
        values = {field.name: self.of(field.type) for field in fields(cls)}
        for name, plausible in PLAUSIBLE.items():
            if name in values and self.random.random() < 0.7:
                values[name] = self.random.choice(plausible)
        return cls(**values)


def odd_metadata(odd: OddValues) -> MetadataResponse:
    """Return metadata, which names known topics and brokers more often than not."""
    message: Any = odd.struct(MetadataResponse)
    topics: Any = tuple(
        topic.__replace__(name=odd.random.choice((topic.name, "orders", "shop"))) for topic in message.topics
    )
    changed: MetadataResponse = message.__replace__(
        topics=topics, cluster_id=odd.random.choice(("x", "x", message.cluster_id))
    )
    return changed


def drive(of: ClusterView, metadata: Any, odd: OddValues, answers: Counter[str]) -> Iterator[str]:
    """Give a view an odd answer to each request of each sequence to two brokers, and yield the names of the APIs."""
    for broker in (1, 2):
        for polled in cluster_requests(of.state, 15, 60).polled:
            assert callable(polled.request)
            sequence = as_sequence(polled.request(metadata, broker))
            request: Any = next(sequence, None)
            while request is not None:
                response = find("kafka", name=describe(type(request)).response)
                answers[response.__name__] += 1
                yield response.__name__
                try:
                    request = sequence.send(odd.struct(response))
                except StopIteration:
                    break


def test_no_odd_answer_ends_a_sequence_or_spoils_the_page(caplog: pytest.LogCaptureFixture) -> None:
    answers: Counter[str] = Counter()
    odd, number, pages, lags = OddValues(1), 0, 0, 0
    ours = view(clock=lambda: 1_700_000_000.0 + number)
    while sum(answers.values()) < ANSWERS:
        number += 10
        metadata = odd_metadata(odd)
        answers["MetadataResponse"] += 1
        give_metadata(ours, metadata, odd.random.choice((1, 2)))
        for _ in drive(ours, metadata, odd, answers):
            pass
        ours.render()
        lags += sum(read.lag_sum > 0 for group in ours.state.groups.records.values() for read in group.topics.values())
        if number % 100 == 0:  # parsing takes longer than all the rest
            pages += 1
            scrape(ours, openmetrics=True)
        if number % 400 == 0:
            ours.state.forget_brokers([odd.random.choice((1, 2))])
    assert not caplog.records, caplog.records[0].exc_text
    assert pages > 5
    assert lags > 10, "the answers fit together often enough to reach what is computed from several of them"
    assert len(answers) >= 13, answers
    errors = {error for _, _, error in ours.state.answers.failures}
    assert not [error for error in errors if error.endswith("Error")], errors


def test_no_odd_metadata_ends_the_poller() -> None:
    """The poller decodes and compares; the connections to the brokers that it lists are tested elsewhere."""
    odd, trackers = OddValues(2), [ResponseTracker() for _ in range(3)]
    done = 0
    for _ in range(1_000):
        message = odd_metadata(odd)
        for version in (1, 8, 12, 13):
            try:
                body = kwire.encode(message, version=version)
            except kwire.EncodeError:
                continue
            done += 1
            odd.random.choice(trackers).apply(
                MetadataResponse, body, version=version, at=datetime.now(UTC), kraft=odd.random.random() < 0.5
            )
    assert done > 500


def odd_fetch(draw: random.Random, log: tuple[str, int]) -> tuple[FetchResponse, list[int]]:
    """Return an answer to a Fetch for a log, and the offsets of the records of that log in it."""
    offsets: list[int] = []
    topics = []
    for _ in range(draw.choice((0, 1, 1, 2))):
        topic, partition = draw.choice((log, log, ("other", log[1]), (log[0], 7)))
        code = draw.choice((0, 0, 0, 1, 6, 999))
        base = draw.choice((0, 5, 100, 2**62))
        data: bytes | None = kwire.records.encode([(base, 1_700_000_000_000, b"k", b"v", ())])
        assert data is not None
        damage = draw.choice((None, None, "cut", "random", "null"))
        if damage is not None:
            data = {"cut": data[: len(data) // 2], "random": draw.randbytes(60), "null": None}[damage]
        elif (topic, partition) == log and not code:
            offsets.append(base)
        answer = PartitionData(partition_index=partition, error_code=code, high_watermark=-1, records=data)
        topics.append(FetchableTopicResponse(topic=topic, partitions=(answer,)))
    return FetchResponse(throttle_time_ms=0, responses=tuple(topics)), offsets


def test_only_records_of_the_log_count_as_unread() -> None:
    draw, log, offset = random.Random(3), ("orders", 1), 5
    records: list[UnreadRecord] = []
    state: Any = SimpleNamespace(
        clock=lambda: 1.8e9,
        topics=SimpleNamespace(records={log[0]: SimpleNamespace(leader=lambda _: 1)}),
        groups=SimpleNamespace(
            unbounded=[("g", log[0])],
            read=lambda *_: SimpleNamespace(unbounded={log[1]: offset}),
            set_unread=lambda *values: records.append(values[-1]),
        ),
    )
    for _ in range(2_000):
        sequence = UnreadRecords().requests(state, None, 1)
        next(sequence)
        answer, bases = odd_fetch(draw, log)
        with suppress(StopIteration):
            sequence.send(answer)
        record = records.pop()
        assert record.offset == offset
        assert record.first >= offset
        if not bases:
            assert record == UnreadRecord(offset, None, offset)
