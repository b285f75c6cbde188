"""The exporter on real Kafka: its values are those of `kafka-consumer-groups`, also in the names of its peers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import confluent_kafka

from kwire.client.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AdminClient,
    NewTopic,
    ResourceType,
    TopicPartition,
)
from kwire_admin.exporter.metric_table import metric_table
from tests.eventually import PATIENCE, eventually
from tests.exporter.scraping import Series, monitored, scrape, view
from tests.kafka.kafka_scripts import kafkas_own

if TYPE_CHECKING:
    from tests.real_kafka import KafkaCluster
    from tests.real_kafka.security import ClusterSecurity

TOPIC = "exporter-orders"
GROUPS = ("exporter-behind", "exporter-done")


def kafkas_lags(bootstrap: str) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """Return committed offset, end, and lag of GROUPS by topic and partition, as Kafka's script prints them."""
    groups = [argument for group in GROUPS for argument in ("--group", group)]
    arguments = ("--bootstrap-server", bootstrap, "--describe", *groups, "--timeout", "120000")  # its 5 s are short
    text = kafkas_own("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *arguments)
    rows = [line.split() for line in text.splitlines()]
    lags: dict[tuple[str, ...], tuple[float, float, float]] = {
        (row[0], row[1], row[2]): (float(row[3]), float(row[4]), float(row[5]))
        for row in rows
        if len(row) >= 6 and row[0] in GROUPS
    }
    assert lags.keys() == {(group, TOPIC, str(index)) for group in GROUPS for index in range(2)}, text
    return lags


async def test_values_are_those_of_kafkas_script(cluster: KafkaCluster) -> None:
    """Two groups read two of three partitions, one of them to the end; that group and the topic are deleted then."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    views = [view(names) for names in metric_table().names]
    ours, of_exporter, of_kminion = views
    async with await AdminClient.open(cluster.bootstrap) as admin:
        (await admin.create_topics({TOPIC: NewTopic(partitions=3)})).raise_first()
        await admin.wait_until_created({TOPIC: 3})
        for index in range(3):
            for number in range(10 * (index + 1)):
                producer.produce(TOPIC, str(number), partition=index)
        assert producer.flush(60) == 0
        for group, commits in zip(GROUPS, ({0: 4, 1: 20}, {0: 10, 1: 20}), strict=True):
            await admin.alter_group_offsets(group, {TopicPartition(TOPIC, index): at for index, at in commits.items()})
        async with monitored(cluster.bootstrap, *views, interval=1.0, timeout=PATIENCE):
            await eventually(lambda: _is_complete(scrape(ours), cluster.version), "all values are known")
            await eventually(
                lambda: (
                    scrape(of_exporter).one("kafka_consumergroup_lag_sum", "exporter-behind", TOPIC) == 6
                    and scrape(of_kminion).one("kminion_kafka_consumer_group_topic_lag", "exporter-behind", TOPIC) == 6
                ),
                "the lag in the names of other exporters",
            )
            expected = await asyncio.to_thread(kafkas_lags, cluster.bootstrap)
            series = scrape(ours)
            assert _compared(series, "kafka_group_partition_committed_offset", "kafka_group_partition_lag") == {
                key: (committed, lag) for key, (committed, _, lag) in expected.items()
            }
            assert series.one("kafka_partition_newest_offset", TOPIC, 1) == 20
            assert series.one("kafka_partition_leader_id", TOPIC, 2) == 1
            theirs = scrape(of_exporter)
            # kafka_exporter has -1 for the partition of the topic without a committed offset.
            without = {(group, TOPIC, "2"): (-1, -1) for group in GROUPS}
            assert (
                _compared(theirs, "kafka_consumergroup_current_offset", "kafka_consumergroup_lag")
                == {key: (committed, lag) for key, (committed, _, lag) in expected.items()} | without
            )
            assert not {error for _, _, error in series.of("kwire_exporter_failed_requests_total")}
            (await admin.delete_groups(["exporter-done"])).raise_first()
            (await admin.delete_topics([TOPIC])).raise_first()
            await eventually(lambda: not _mentions(scrape(ours), "exporter-done", TOPIC), "the deleted parts are gone")


def _is_complete(series: Series, version: str) -> bool:
    """Return whether the series have what arrives with different requests."""
    return (
        series.one("kafka_group_lag", "exporter-behind") == 6
        and series.one("kafka_topic_min_in_sync_replicas", TOPIC) == 1
        and series.one("kwire_exporter_cluster_up") == 1
        and bool(series.of("kafka_log_dir_size_bytes"))
        and bool(series.of("kafka_quorum_leader_epoch")) == version.startswith("4")
    )


def _compared(series: Series, committed: str, lag: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return committed offset and lag of GROUPS; other tests have groups in the same cluster."""
    lags = series.of(lag)
    return {key: (value, lags[key]) for key, value in series.of(committed).items() if key[0] in GROUPS}


def _mentions(series: Series, *names: str) -> bool:
    return any(name in labels for _, labels in series for name in names)


async def test_acls_that_hide_half_of_the_cluster(secured: KafkaCluster, security: ClusterSecurity) -> None:
    """A user may describe one of two topics and one of two groups; each group has offsets for both topics."""
    shown, hidden = "exporter-shown", "exporter-hidden"
    acls = [
        AclBinding(resource_type=kind, resource_name=shown, principal="User:alice", operation=AclOperation.DESCRIBE)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    ours = view(topics="exporter-.*", groups="exporter-.*")
    async with await AdminClient.open(secured.bootstrap, config=security.config("PLAIN")) as admin:
        (await admin.create_topics({name: NewTopic(partitions=2) for name in (shown, hidden)})).raise_first()
        await admin.wait_until_created({shown: 2, hidden: 2})
        for group in (shown, hidden):
            await admin.alter_group_offsets(group, {TopicPartition(topic, 0): 0 for topic in (shown, hidden)})
        (await admin.create_acls(acls)).raise_first()
        await admin.wait_until_acls(created=acls)
        alice = security.config("PLAIN", user="alice")
        async with monitored(secured.bootstrap, ours, interval=1.0, timeout=PATIENCE, config=alice):
            await eventually(lambda: scrape(ours).one("kafka_group_lag", shown) == 0, "the lag of the group")
            await eventually(lambda: scrape(ours).of("kafka_partition_oldest_offset"), "the first offsets")
        await admin.delete_acls([AclBindingFilter(principal="User:alice", resource_name=shown)])
    series = scrape(ours)
    assert set(series.of("kafka_topic_partitions")) == {(shown,)}
    assert set(series.of("kafka_partition_newest_offset")) == {(shown, "0"), (shown, "1")}
    assert {labels[0] for labels in series.of("kafka_group_info")} == {shown}
    assert set(series.of("kafka_group_partition_committed_offset")) == {(shown, shown, "0")}
    assert (series.one("kwire_exporter_cluster_up"), series.one("kafka_brokers")) == (1, 1)
    assert series.one("kafka_topics") == 1
    # Without Describe on the cluster, the rest is unknown, and counted as refused.
    for name in ("kafka_log_dir_size_bytes", "kafka_quorum_leader_epoch"):
        assert series.of(name) == {}, name
    failures = series.of("kwire_exporter_failed_requests_total")
    assert {error for _, _, error in failures} == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert {api for _, api, _ in failures} <= {"DescribeLogDirs", "DescribeQuorum"}
