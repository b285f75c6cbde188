"""`describe_topics(lag=True)`: the lag of each replica, unknown where a broker does not answer."""

from __future__ import annotations

from kwire.client.admin import AdminClient, TopicDescription
from kwire.testing import FakeCluster


async def test_lag_is_unknown_where_a_broker_is_down() -> None:
    with FakeCluster(3) as cluster:
        cluster.create_topic("orders", assignment=[[1, 2], [3, 1]])
        cluster.set_ends("orders", {0: 7, 1: 9})
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            topic = (await admin.describe_topics(["orders"]))["orders"]
            assert isinstance(topic, TopicDescription)
            assert [partition.lag for partition in topic.partitions] == [{}, {}], "not requested"

            topic = (await admin.describe_topics(["orders"], lag=True))["orders"]
            assert isinstance(topic, TopicDescription)
            assert [partition.lag for partition in topic.partitions] == [{1: 0, 2: 0}, {3: 0, 1: 0}]

            cluster.stop_broker(2)
            topics = await admin.describe_topics(["orders", "nosuch"], lag=True)
            topic = topics["orders"]
            assert isinstance(topic, TopicDescription)
            assert [partition.lag for partition in topic.partitions] == [{1: 0, 2: None}, {3: 0, 1: 0}]
            assert not isinstance(topics["nosuch"], TopicDescription)
