"""Lag in seconds beside the truth, over 22 patterns of load: simulated producers, groups, and polls."""

from __future__ import annotations

import random
import time
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import kwire.records
from kwire.messages.kafka.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kwire.messages.kafka.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kwire.messages.kafka.offset_fetch import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from kwire.testing import FakeCluster
from kwire_admin.exporter.cluster_requests import cluster_requests
from kwire_admin.exporter.group_record import GroupTopic, MonitoredGroup
from kwire_admin.exporter.history_file import HistoryFile, saved_histories
from kwire_admin.exporter.offset_history import MAX_SAMPLES, MAX_SPARE, UNKNOWN, OffsetHistory
from kwire_admin.exporter.topic_record import MonitoredTopic
from tests.eventually import eventually
from tests.exporter.scraping import feed, monitored, respond, scrape, text, view
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

INTERVAL = 15.0
START = 1_700_000_000.0


class Load(NamedTuple):
    """A pattern of load.

    Attributes:
        rate: records a second at a time since the start.
        read: the offset that the group has committed, by time and the ends of the log at that and an earlier time.
        before: records that are older than the exporter.
        seconds: length of the simulation.
    """

    rate: Callable[[float], float]
    read: Callable[[float, Callable[[float], int]], int]
    before: int = 0
    seconds: float = 3600.0


def steady(rate: float) -> Callable[[float], float]:
    return lambda _: rate


def between(start: float, end: float, rate: float, otherwise: float = 0.0) -> Callable[[float], float]:
    return lambda time: rate if start <= time < end else otherwise


def behind(seconds: float) -> Callable[[float, Callable[[float], int]], int]:
    """Return a group that reads each record that many seconds after it was written."""
    return lambda time, end: end(time - seconds)


def stops(at: float) -> Callable[[float, Callable[[float], int]], int]:
    return lambda time, end: end(min(time, at))


PATTERNS = {
    "steady, close": Load(steady(10), behind(5)),
    "steady, minutes behind": Load(steady(10), behind(300)),
    "steady, far behind": Load(steady(3), behind(1800)),
    "steady, group stops": Load(steady(10), stops(1200)),
    "steady, group stops early": Load(steady(10), stops(60)),
    "one record after silence": Load(between(2000, 2001, 1), stops(0)),
    "one record a minute, group stops": Load(lambda time: 1.0 if time % 60 < 1 else 0.0, stops(1000)),
    "one record in ten minutes": Load(lambda time: 1.0 if time % 600 < 1 else 0.0, behind(900)),
    "nightly batch, group stops in it": Load(between(1800, 1900, 500), stops(1850)),
    "nightly batch, group behind": Load(between(1800, 1900, 500), behind(400)),
    "batch and a trickle": Load(between(1800, 1900, 500, 0.05), behind(600)),
    "rising": Load(lambda time: time / 100, behind(200)),
    "falling": Load(lambda time: max(0.0, 30 - time / 100), behind(200)),
    "day and night": Load(lambda time: 20.0 if time % 900 < 450 else 0.0, behind(500)),
    "bursts": Load(lambda time: 1000.0 if time % 300 < 2 else 0.0, behind(250)),
    "group stops, then catches up": Load(steady(5), lambda time, end: end(min(time, max(600, 3 * time - 6000)))),
    "group reads faster and slower": Load(
        steady(5), lambda time, end: end(time - 100 - 400 * abs(time % 1800 / 900 - 1))
    ),
    "old records, group at the end": Load(steady(1), behind(30), before=10**9),
    "old records, group stops later": Load(between(500, 3600, 2), stops(700), before=10**9),
    "group is reset to the start, and reads on": Load(
        steady(3), lambda time, end: end(time if time < 1800 else 10 + (time - 1800) / 4)
    ),
    "group is reset back and forth": Load(
        steady(3), lambda time, end: end(time - 10 if int(time / 400) % 2 else max(0.0, time - 1500))
    ),
    "half a day, group stops": Load(lambda time: 1 + time % 7, stops(1000), seconds=43_200),
}


def worst_error(load: Load, seed: int) -> float:
    """Return the greatest error of a lag in seconds, in intervals, beyond 10 % of the truth."""
    draw = random.Random(seed)
    written: list[float] = []  # the times of records, from `before` on
    second, due = 0.0, draw.random()
    while second < load.seconds:
        due += load.rate(second)
        written += [second + draw.random() for _ in range(int(due))]
        due -= int(due)
        second += 1
    written.sort()

    def end(time: float) -> int:
        return load.before + bisect_right(written, time)

    topic = MonitoredTopic(topic_of(2))
    read = GroupTopic(MonitoredGroup("shop"), "orders")
    worst, time, committed = 0.0, 0.0, 0
    while time < load.seconds:
        time += INTERVAL * draw.uniform(0.95, 1.05)
        committed = max(load.read(time, end), 0)
        read.update(committed_at(committed))
        # Another partition is busy all the time: its samples must not cost those of the first one.
        topic.newest[:] = array("q", [end(time), int(time * 50)])
        topic.history.add(START + time, topic.newest)
        read.evaluate(topic, with_ages=True)
        read.age(START + time)
        [age] = read.lag_seconds
        topic.history.thin_before(read.oldest_written)
        if committed < load.before:
            continue  # older than the exporter
        truth = 0.0 if committed >= end(time) else time - written[committed - load.before]
        worst = max(worst, (abs(age - truth) - 0.1 * truth) / INTERVAL)
    return worst


@for_rows("name", list(PATTERNS))
def test_lag_in_seconds_is_right_to_two_intervals_and_a_tenth(name: str) -> None:
    errors = [worst_error(PATTERNS[name], seed) for seed in range(3 if PATTERNS[name].seconds < 10_000 else 1)]
    assert max(errors) <= 1.06, errors  # the jitter of polls; the documentation promises two intervals


def topic_of(partitions: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=0,
        name="orders",
        partitions=tuple(
            MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
            )
            for index in range(partitions)
        ),
    )


def committed_at(offset: int) -> OffsetFetchResponseTopics:
    partition = OffsetFetchResponsePartitions(partition_index=0, committed_offset=offset, metadata="", error_code=0)
    return OffsetFetchResponseTopics(name="orders", partitions=(partition,))


def written_at(history: OffsetHistory, position: int, offset: int) -> float:
    [time] = history.written_at([position], [offset])
    return time


def test_samples_are_bounded_and_thinned_when_no_group_needs_them() -> None:
    history = OffsetHistory()
    for number in range(20_000):
        history.add(START + INTERVAL * number, [number])
    assert len(history._samples) <= MAX_SAMPLES
    assert written_at(history, 0, 19_990) == START + INTERVAL * 19_991
    for offset in (10, 1_000, 10_000, 18_000):
        age = INTERVAL * (19_999 - offset)
        assert abs(START + INTERVAL * offset - written_at(history, 0, offset)) <= INTERVAL + 0.15 * age
    history.thin_before(written_at(history, 0, 19_990))
    assert len(history._samples) < MAX_SPARE + 10
    assert written_at(history, 0, 19_990) == START + INTERVAL * 19_991
    for offset in (10, 1_000, 10_000, 18_000, 19_900):
        age = INTERVAL * (19_999 - offset)
        assert 0 <= written_at(history, 0, offset) - (START + INTERVAL * offset) <= INTERVAL + 0.25 * age


def test_samples_of_a_group_that_keeps_up_serve_it_after_a_reset() -> None:
    topic = MonitoredTopic(topic_of(1))
    read = GroupTopic(MonitoredGroup("shop"), "orders")
    most = 0
    for number in range(2_000):
        topic.newest[:] = array("q", [10 * number])
        topic.history.add(START + INTERVAL * number, topic.newest)
        read.update(committed_at(10 * number))
        read.evaluate(topic, with_ages=True)
        topic.history.thin_before(read.oldest_written)
        most = max(most, len(topic.history._samples))
    assert most <= MAX_SPARE + 2
    assert read.unbounded == {}
    for number in (5, 500, 1_500, 1_900, 1_998):
        read.update(committed_at(10 * number))
        read.evaluate(topic, with_ages=True)
        read.age(START + INTERVAL * 2_000)
        assert read.lag_seconds == [pytest.approx(INTERVAL * (2_000 - number), rel=0.15, abs=INTERVAL)]


def test_the_record_is_asked_after_a_reset_to_one_before_the_first_sample() -> None:
    topic = MonitoredTopic(topic_of(1))
    read = GroupTopic(MonitoredGroup("shop"), "orders")
    topic.newest[:] = array("q", [100])
    topic.history.add(START, topic.newest)
    read.update(committed_at(50))
    read.evaluate(topic, with_ages=True)
    assert read.oldest_written == START
    assert read.unbounded == {0: 50}


def test_nothing_is_claimed_before_the_first_sample() -> None:
    """A record that the exporter did not see arrive is at least as old as the exporter."""
    history = OffsetHistory()
    assert written_at(history, 0, 5) == UNKNOWN
    history.add(1000.0, [100, UNKNOWN])
    assert written_at(history, 0, 5) == 1000.0
    assert history.unbounded([0, 1], [5, 5]) == [0, 1]
    assert written_at(history, 1, 5) == UNKNOWN
    history.add(1015.0, [100, 7])
    assert len(history._samples) == 2
    history.add(1030.0, [100, 7])
    assert len(history._samples) == 2, "nothing moved"
    history.add(9000.0, [101, 7])
    assert written_at(history, 0, 100) == 9000.0, "no time is interpolated across silence"
    assert history.unbounded([1, 0], [5, 100]) == [0]
    assert written_at(history, 1, 5) == 1015.0
    history.add(8000.0, [200, 7])  # the clock was set back
    assert written_at(history, 0, 150) == 9000.0


def fetched(timestamp_ms: int) -> Callable[[FetchRequest], FetchResponse]:
    """Return a broker whose records all have a timestamp."""

    def respond(request: FetchRequest) -> FetchResponse:
        [topic] = request.topics
        [partition] = topic.partitions
        records = kwire.records.encode([(partition.fetch_offset, timestamp_ms, b"k", b"v")])
        data = PartitionData(partition_index=partition.partition, error_code=0, high_watermark=10, records=records)
        return FetchResponse(responses=(FetchableTopicResponse(topic=topic.topic, partitions=(data,)),))

    return respond


def unread(of: Any, respond: Callable[[FetchRequest], FetchResponse]) -> Sequence[FetchRequest]:
    """Answer the requests for unread records to all brokers, and return them."""
    requests = []
    polled = cluster_requests(of.state, 15, 60)
    factory = polled.polled[polled.sequences.index("unread")].request
    for broker in (1, 2, 3):
        assert callable(factory)
        sequence: Any = factory(MetadataResponse(brokers=(), controller_id=-1, topics=()), broker)
        request = next(sequence, None)
        while request is not None:
            requests.append(request)
            try:
                request = sequence.send(respond(request))
            except StopIteration:
                break
    of.render()
    return requests


def test_the_record_itself_has_the_age_of_records_before_the_exporter() -> None:
    now = [START]
    with FakeCluster(3, topics=["orders"], partitions=3) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 10})
        cluster.set_group("shop", {"orders": {0: 4, 1: 10}})
        ours = view(clock=lambda: now[0])
        feed(ours, cluster)
        now[0] += 30
        feed(ours, cluster)
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 30, "at least as old as the exporter"
        [request] = unread(ours, fetched(int((START - 86_400) * 1000)))
        assert request.topics[0].partitions[0].fetch_offset == 4
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 86_430
        assert unread(ours, fetched(0)) == [], "a record is fetched once"
        cluster.set_group("shop", {"orders": {0: 5, 1: 10}})
        feed(ours, cluster)
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 30, "another record has another age"
        # A timestamp before Kafka, or in the future, is not the time at which a record was written.
        for lie in (0, -1, 2**62):
            ours.state.groups.records["shop"].topics["orders"].unread.clear()
            unread(ours, fetched(lie))
            assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 30


def batches(request: FetchRequest, *encoded: bytes) -> FetchResponse:
    """Return a response with batches."""
    [topic] = request.topics
    data = PartitionData(partition_index=0, error_code=0, high_watermark=12, records=b"".join(encoded))
    return FetchResponse(responses=(FetchableTopicResponse(topic=topic.topic, partitions=(data,)),))


def test_a_group_before_the_end_of_a_transaction_has_read_everything() -> None:
    """Its lag of 1 is a control record, which no consumer reads. A record after that ages from its own time on."""
    now = [START]
    marker = kwire.records.encode(
        [(9, 0, b"\0\0\0\1", b"\0" * 6)], producer_id=1, producer_epoch=0, is_transactional=True, is_control=True
    )
    record = kwire.records.encode([(10, 0, b"k", b"v")])
    with FakeCluster(3, topics=["orders"], partitions=1) as cluster:
        cluster.set_group("shop", {"orders": {0: 9}})
        ours = view(clock=lambda: now[0])
        for end in (8, 10):
            cluster.set_ends("orders", {0: end})
            feed(ours, cluster)
            now[0] += 30
        assert [
            requests.topics[0].partitions[0].fetch_offset for requests in unread(ours, lambda _: batches(_, marker))
        ] == [9]
        for _ in range(2):
            now[0] += 3600
            feed(ours, cluster)
            assert scrape(ours).one("kafka_group_lag", "shop") == 1
            assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 0
        cluster.set_ends("orders", {0: 11})
        feed(ours, cluster)
        now[0] += 45
        feed(ours, cluster)
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 45
        assert unread(ours, lambda _: batches(_, marker, record)) == [], "it is known which records there are"


def test_the_first_record_that_compaction_left_counts() -> None:
    now = [START]
    with FakeCluster(3, topics=["orders"], partitions=1) as cluster:
        cluster.set_config("cleanup.policy", "compact", topic="orders")
        cluster.set_group("shop", {"orders": {0: 2}})
        ours = view(clock=lambda: now[0])
        for end in (1, 5, 8, 12):
            cluster.set_ends("orders", {0: end})
            feed(ours, cluster)
            now[0] += 100
        configs = DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=2,
            resource_name="orders",
            configs=(
                DescribeConfigsResourceResult(
                    name="cleanup.policy", value="compact", read_only=False, is_sensitive=False
                ),
            ),
        )
        respond(ours, "configs", DescribeConfigsResponse(throttle_time_ms=0, results=(configs,)))
        ours.render()
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 300
        left = kwire.records.encode([(7, 0, b"k", b"v")], base_offset=2)
        assert unread(ours, lambda _: batches(_, left))
        assert scrape(ours).one("kafka_group_lag_seconds", "shop") == 200


def test_no_more_records_are_fetched_than_the_limit() -> None:
    with FakeCluster(3, topics=["orders"], partitions=90) as cluster:
        cluster.set_ends("orders", dict.fromkeys(range(90), 10))
        cluster.set_group("shop", {"orders": dict.fromkeys(range(90), 1)})
        ours = view(clock=lambda: START)
        feed(ours, cluster)
        assert len(unread(ours, fetched(int(START * 1000)))) == 60


def test_ages_that_only_time_changed_are_those_of_a_complete_rendering() -> None:
    """Values are replaced in rendered lines; also after the clock was set back, or moved by 0.04 s."""
    random_ = random.Random(5)
    now = [START]
    topics = ["a", "b 0.0", "c"]
    with FakeCluster(1, topics=topics, partitions=4) as cluster:
        ours = view(clock=lambda: now[0])
        for _ in range(60):
            for topic in topics:
                cluster.set_ends(topic, {index: random_.randint(90, 110) + int(now[0] - START) for index in range(4)})
            groups = {
                f"g{n}": {random_.choice(topics): {i: random_.randint(0, 120) for i in range(4)}} for n in range(4)
            }
            cluster.set_groups(groups)
            feed(ours, cluster)
            for step in (15.0, 0.04, 15.0, -40.0, 15.0, 15.0):
                now[0] += step
                ours.render()
                incremental = set(text(ours).splitlines())
                ours.state.topics.mark_all()
                ours.state.groups.mark_all()
                ours.render()
                different = incremental ^ set(text(ours).splitlines())
                assert [line for line in different if "lag_seconds" in line] == []


async def test_a_lag_in_seconds_continues_after_a_restart(tmp_path: Path) -> None:
    """The group stands still; the second exporter knows when the records arrived that the first one has seen."""
    later = [0.0]
    with FakeCluster(2, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 10})
        cluster.set_group("shop", {"orders": {0: 10, 1: 10}})
        first = view(clock=lambda: time.time() + later[0])
        async with monitored(cluster.bootstrap, first, history=tmp_path):
            await eventually(lambda: scrape(first).one("kafka_group_lag_seconds", "shop") == 0, "it keeps up")
            cluster.set_ends("orders", {0: 15, 1: 10})
            await eventually(lambda: (scrape(first).one("kafka_group_lag", "shop") or 0) == 5, "it is behind")
        later[0] = 5_000.0
        for folder, least in ((tmp_path, 5_000), (None, 0)):
            second = view(clock=lambda: time.time() + later[0])
            async with monitored(cluster.bootstrap, second, history=folder):
                await eventually(lambda: second.is_ready, "all values are complete")  # noqa: B023  # runs within the round
                lag = scrape(second).one("kafka_group_lag_seconds", "shop")
            assert lag is not None
            assert least <= lag < least + 1_000


def test_a_history_of_another_log_is_not_used(tmp_path: Path) -> None:
    """A topic that was created again, a log that is shorter, other partitions, a clock that was set back."""
    topic = MonitoredTopic(topic_of(2))
    topic.newest[:] = array("q", [10, 20])
    topic.history.add(START, topic.newest)
    file = HistoryFile(tmp_path, "a/b")
    file.write(saved_histories({"x": topic}))
    saved = file.read()["x"]
    assert saved.fits(topic, START + 1)
    assert not saved.fits(topic, START - 1)
    topic.newest[:] = array("q", [10, 19])
    assert not saved.fits(topic, START + 1)
    assert not saved.fits(MonitoredTopic(topic_of(3)), START + 1)
    assert not saved._replace(topic_id="another").fits(topic, START + 1)


def test_damaged_histories_are_left_out(tmp_path: Path) -> None:
    random_ = random.Random(3)
    topic = MonitoredTopic(topic_of(2))
    for number in range(5):
        topic.newest[:] = array("q", [number, 2 * number])
        topic.history.add(START + number, topic.newest)
    file = HistoryFile(tmp_path, "x")
    assert file.read() == {}
    file.write(saved_histories({"x": topic}))
    content = file.path.read_bytes()
    for _ in range(500):
        damaged = bytearray(content)
        for _ in range(random_.randint(1, 3)):
            damaged[random_.randrange(len(damaged))] = random_.choice(b'{}[]",:09-e.ntx\xff')
        file.path.write_bytes(damaged[: random_.choice([None, random_.randrange(len(damaged))])])
        for saved in file.read().values():
            saved.fits(topic, START + 5)
            topic.history.restore(saved.samples)
