"""Real Kafka for tests: brokers of 3.9.1 (with ZooKeeper) and 4.4.0 (KRaft) as processes of this machine.

    with Kafka39(brokers=3) as cluster:
        cluster.bootstrap                   # "127.0.0.1:40117,127.0.0.1:40118,127.0.0.1:40119"
        cluster.brokers[2].kill()

Needs Java 17 or newer and, the first time, Maven: the jars come from the coordinates in ``kafka39.xml`` and
``kafka44.xml`` and stay in the user's cache. Without them ``MissingTools`` says what to install. All servers listen on
127.0.0.1 and on ports that were free; their data lies in a temporary folder and goes with the cluster.
"""

from __future__ import annotations

from kwire.testing.kafka.clusters import Broker, Cluster, Kafka39, Kafka44
from kwire.testing.kafka.errors import JarDownloadFailed, KafkaTestingError, MissingTools, StartFailed

__all__ = [
    "Broker",
    "Cluster",
    "JarDownloadFailed",
    "Kafka39",
    "Kafka44",
    "KafkaTestingError",
    "MissingTools",
    "StartFailed",
]
