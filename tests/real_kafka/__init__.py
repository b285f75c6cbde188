"""Real Kafka clusters for tests: 3.9.1 with ZooKeeper and 4.4.0 with KRaft, as local processes.

    with Kafka39(brokers=3) as cluster:
        cluster.bootstrap                   # "127.0.0.1:40117,127.0.0.1:40118,127.0.0.1:40119"
        cluster.brokers[2].kill()

Requires Java 17 or newer and, the first time, Maven, which downloads the jars listed in `kafka39.xml` and `kafka44.xml`
to the user's cache (`$XDG_CACHE_HOME/kwire`). `MissingTools` lists what has to be installed. All servers listen on free
ports of 127.0.0.1, and their data is in a temporary folder that is removed with the cluster.
"""

from __future__ import annotations

from tests.real_kafka.clusters import Kafka39, Kafka44, KafkaBroker, KafkaCluster
from tests.real_kafka.errors import JarDownloadFailed, KafkaTestingError, MissingTools, StartFailed

__all__ = [
    "JarDownloadFailed",
    "Kafka39",
    "Kafka44",
    "KafkaBroker",
    "KafkaCluster",
    "KafkaTestingError",
    "MissingTools",
    "StartFailed",
]
