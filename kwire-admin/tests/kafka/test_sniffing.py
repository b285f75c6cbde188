"""`kwire sniff` in front of a real broker."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.sniffing import sniffing

if TYPE_CHECKING:
    from tests.real_kafka import KafkaCluster

LIST_TOPICS = """
import sys
from confluent_kafka.admin import AdminClient
client = AdminClient({"bootstrap.servers": sys.argv[1], "client.id": "app"})
topics = client.list_topics(timeout=60).topics
print(type(topics).__name__)
"""


def test_traffic_of_a_real_client_and_a_real_broker_is_shown(cluster: KafkaCluster) -> None:
    with sniffing("--to", cluster.bootstrap.partition(",")[0]) as it:
        client = [sys.executable, "-W", "ignore", "-c", LIST_TOPICS, it.address]
        listed = subprocess.run(client, capture_output=True, text=True, check=True, timeout=60)
        documents = it.documents()

    assert listed.stdout == "dict\n"
    shown = [document for document in documents if document["outcome"] == "answered"]
    assert {row["api"] for row in shown} == {"ApiVersions", "Metadata"}
    assert {row["client_id"] for row in shown} == {"app"}
    for line in shown:
        assert "error" not in line["request"]
        assert "error" not in line["response"]
    served = next(row for row in shown if row["api"] == "ApiVersions")
    assert {row["apiKey"] for row in served["response"]["body"]["apiKeys"]} >= {0, 1, 3, 18}
