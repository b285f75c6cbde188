"""The exporter on real Kafka: its values are those of `kafka-consumer-groups`, also in the names of its peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import confluent_kafka

from kwire.client.admin import AdminClient, NewTopic, TopicPartition
from kwire.exporter.metric_table import metric_table
from tests.eventually import eventually
from tests.exporter.scraping import Series, monitored, scrape, view
from tests.kafka.kafka_scripts import kafkas_own

if TYPE_CHECKING:
    from kwire.testing.kafka import KafkaCluster

TOPIC = "exporter-orders"
GROUPS = ("exporter-behind", "exporter-done")


def kafkas_lags(bootstrap: str) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """Return committed offset, end, and lag by group, topic, and partition, as Kafka's script prints them."""
    arguments = ("--bootstrap-server", bootstrap, "--describe", "--all-groups")
    text = kafkas_own("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *arguments)
    rows = [line.split() for line in text.splitlines()]
    return {
        (row[0], row[1], row[2]): (float(row[3]), float(row[4]), float(row[5]))
        for row in rows
        if len(row) >= 6 and row[2].isdigit() and row[3].isdigit()
    }


async def test_values_are_those_of_kafkas_script(cluster: KafkaCluster) -> None:
    """Two groups read two of three partitions, one of them to the end; one commits for a topic that is deleted then."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    views = [view(names) for names in metric_table().names]
    ours, of_exporter, of_kminion = views
    async with await AdminClient.open(cluster.bootstrap) as admin:
        outcomes = await admin.create_topics({TOPIC: NewTopic(partitions=3), "exporter-gone": NewTopic(partitions=1)})
        outcomes.raise_first()
        await admin.wait_until_created({TOPIC: 3, "exporter-gone": 1})
        for index in range(3):
            for number in range(10 * (index + 1)):
                producer.produce(TOPIC, str(number), partition=index)
        assert producer.flush(60) == 0
        for group, commits in zip(GROUPS, ({0: 4, 1: 20}, {0: 10, 1: 20}), strict=True):
            await admin.alter_group_offsets(group, {TopicPartition(TOPIC, index): at for index, at in commits.items()})
        async with monitored(cluster.bootstrap, *views, interval=1.0):
            await eventually(
                lambda: (
                    scrape(ours).one("kafka_group_lag", "exporter-behind") == 6
                    and scrape(ours).of("kafka_log_dir_size_bytes")
                ),
                "the exporter knows the lag",
            )
            await eventually(
                lambda: all(
                    each.groups.keys() >= set(GROUPS) and each.records[TOPIC].oldest == [0, 0, 0] for each in views
                ),
                "all views are complete",
            )
            expected = kafkas_lags(cluster.bootstrap)
            assert {key for key in expected if key[0] in GROUPS} == {
                (group, TOPIC, str(index)) for group in GROUPS for index in range(2)
            }
            series = scrape(ours)
            assert _compared(series, "kafka_group_partition_committed_offset", "kafka_group_partition_lag") == {
                key: (committed, lag) for key, (committed, _, lag) in expected.items()
            }
            assert series.one("kafka_partition_newest_offset", TOPIC, 1) == 20
            assert series.one("kwire_exporter_cluster_up") == 1
            assert series.one("kafka_partition_leader_id", TOPIC, 2) == 1
            assert series.one("kafka_topic_min_in_sync_replicas", TOPIC) == 1
            assert (
                series.of("kafka_quorum_leader_epoch")
                if cluster.version.startswith("4")
                else not series.of("kafka_quorum_leader_epoch")
            )
            theirs = scrape(of_exporter)
            assert _compared(theirs, "kafka_consumergroup_current_offset", "kafka_consumergroup_lag") == {
                key: (committed, lag) for key, (committed, _, lag) in expected.items()
            }
            assert scrape(of_kminion).one("kminion_kafka_consumer_group_topic_lag", "exporter-behind", TOPIC) == 6
            assert not {error for _, _, error in series.of("kwire_exporter_failed_requests_total")}
            (await admin.delete_groups(["exporter-done"])).raise_first()
            (await admin.delete_topics([TOPIC, "exporter-gone"])).raise_first()
            await eventually(lambda: not _mentions(scrape(ours), "exporter-done", TOPIC), "the deleted parts are gone")


def _compared(series: Series, committed: str, lag: str) -> dict[tuple[str, ...], tuple[float, float]]:
    lags = series.of(lag)
    return {key: (value, lags[key]) for key, value in series.of(committed).items()}


def _mentions(series: Series, *names: str) -> bool:
    return any(name in labels for _, labels in series for name in names)
