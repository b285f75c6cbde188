"""A round of responses: what all brokers report about a topic is taken together."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from kwire.messages.kafka.list_offsets import ListOffsetsPartitionResponse
from kwire.testing import FakeCluster
from kwire_admin.exporter.offset_history import UNKNOWN
from kwire_admin.exporter.topic_record import MonitoredTopic
from tests.exporter.scraping import feed, scrape, view
from tests.exporter.test_lag_seconds import START, topic_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_ends_that_several_brokers_report_are_one_sample() -> None:
    """Each of three brokers leads some partitions. The clock goes on between their responses."""
    now = [START]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    with FakeCluster(3, topics=["orders"], partitions=30) as cluster:
        ours = view(clock=clock)
        cluster.set_ends("orders", dict.fromkeys(range(30), 10))
        cluster.set_group("shop", {"orders": dict.fromkeys(range(30), 10)})
        feed(ours, cluster)
        for number in range(1, 5):
            now[0] += 15
            cluster.set_ends("orders", dict.fromkeys(range(30), 10 + number))
            feed(ours, cluster)
            assert len(ours.state.topics.records["orders"].history.samples) == 1 + number
        assert scrape(ours).one("kafka_group_lag", "shop") == 120
        lag = scrape(ours).one("kafka_group_lag_seconds", "shop")
        assert lag is not None
        assert 45 <= lag < 46


def reported(offsets: Sequence[tuple[int, int, int]]) -> list[ListOffsetsPartitionResponse]:
    """Return partitions of a response from their indexes, offsets, and error codes."""
    return [
        ListOffsetsPartitionResponse(partition_index=index, error_code=error, timestamp=-1, offset=offset)
        for index, offset, error in offsets
    ]


def test_only_values_that_no_other_broker_reported_since_are_forgotten() -> None:
    """Compared with a dictionary of values and of the brokers that reported them, over random responses."""
    random_ = Random(11)
    topic = MonitoredTopic(topic_of(6))
    values, owners = dict.fromkeys(range(6), UNKNOWN), dict.fromkeys(range(6), UNKNOWN)
    for _ in range(2_000):
        broker, before = random_.randrange(3), dict(values)
        if random_.random() < 0.2:
            has_changed = topic.forget("oldest", broker)
            lost = [index for index, owner in owners.items() if owner == broker]
            values |= dict.fromkeys(lost, UNKNOWN)
            owners |= dict.fromkeys(lost, UNKNOWN)
            assert has_changed == bool(lost)
        else:
            drawn = [
                (random_.randrange(-1, 8), random_.randrange(-1, 4), random_.choice([0, 0, 0, 6, 3]))
                for _ in range(random_.randrange(5))
            ]
            has_changed = topic.set_offsets("oldest", broker, reported(drawn))
            for index, offset, error in drawn:
                if index in values and error == 0:
                    values[index], owners[index] = offset, broker
                elif index in values and error == 3:
                    values[index] = UNKNOWN
            assert has_changed or values == before
        assert list(topic.oldest) == list(values.values())
