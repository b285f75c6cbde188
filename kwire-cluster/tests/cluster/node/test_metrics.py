"""The metrics of a node, over HTTP in the text format of Prometheus."""

from __future__ import annotations

import asyncio
import urllib.request
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from tests.cluster.node.nodes import new_root, nodes, send
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


def read(port: int) -> dict[tuple[str, ...], float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    return {
        (sample.name, *(value for key, value in sorted(sample.labels.items()) if key != "node")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_requests_errors_and_closed_connections_are_counted(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, metrics=("127.0.0.1", 0)) as [node]:
        for _ in range(3):
            await send(node, ClusterMetadataRequest())
        await send(node, DeleteTopicRequest_V2(topic_names=("nosuch",)))
        _, writer = await asyncio.open_connection(node.host, node.port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await eventually(lambda: node.metrics.closed)
        writer.close()

        metrics = await asyncio.to_thread(read, node.metrics_port)

        assert metrics["kwire_requests_total", "ClusterMetadataRequest"] == 3
        assert metrics["kwire_requests_total", "DeleteTopicRequest_V2"] == 1
        assert metrics["kwire_request_duration_seconds_count", "DeleteTopicRequest_V2"] == 1
        assert metrics["kwire_request_duration_seconds_bucket", "+Inf", "DeleteTopicRequest_V2"] == 1
        assert metrics["kwire_errors_total", "3", "DeleteTopicRequest_V2"] == 1
        assert metrics["kwire_connections_closed_total", "invalid_frame"] == 1
        assert metrics["kwire_faults_total",] == 0
        assert metrics["kwire_is_controller",] == 1
        assert metrics["kwire_brokers",] == 1
        port = node.metrics_port
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
