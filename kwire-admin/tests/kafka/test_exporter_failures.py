"""The exporter on a real cluster that loses a broker and a group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kwire_admin.exporter.metric_table import metric_table
from tests.eventually import PATIENCE, eventually
from tests.exporter.scraping import monitored, scrape, text, view
from tests.kafka.exporter_scenario import CONFIG, FAST, SLOW, differences, quiet_after_failures
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from kwire_admin.exporter.cluster_view import ClusterView
    from tests.kafka.exporter_scenario import Offsets


async def test_no_value_differs_after_a_broker_died_and_a_group_was_deleted() -> None:
    with Kafka44(brokers=3, config=CONFIG) as cluster:
        views = {names: view(names) for names in metric_table().names}
        async with (
            monitored(cluster.bootstrap, *views.values(), interval=1.0, timeout=PATIENCE),
            quiet_after_failures(cluster) as expected,
        ):
            for names, of_names in views.items():
                await eventually(partial(_equals, of_names, names, expected), f"values as {names}")
            ours = scrape(views["kwire"])
            assert {labels[0] for labels in ours.of("kafka_group_info")} == {FAST, SLOW}
            assert [ours.one("kafka_broker_up", broker) for broker in (1, 2)] == [1, 1]
            assert ours.one("kafka_broker_up", 3) != 1
            assert ours.one("kafka_group_members", FAST) == 1
            assert ours.one("kafka_under_replicated_partitions") == ours.one("kafka_partitions")


def _equals(of: ClusterView, names: str, expected: Offsets) -> bool:
    return not differences(text(of), names, expected)
