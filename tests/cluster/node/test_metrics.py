"""What a node tells Prometheus, over HTTP and in Prometheus' own text."""

from __future__ import annotations

import asyncio
import urllib.request
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from kwire.cluster.node.node import kind_of
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from tests.cluster.node.nodes import ask, new_root, nodes, run, until

if TYPE_CHECKING:
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper


def read(port: int) -> dict[tuple[str, ...], float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        text = answer.read().decode()
    return {
        (sample.name, *(value for key, value in sorted(sample.labels.items()) if key != "node")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_errors_and_closed_connections_are_counted(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, metrics=("127.0.0.1", 0)) as [node]:
            for _ in range(3):
                await ask(node, ClusterMetadataRequest())
            await ask(node, DeleteTopicRequest_V2(topic_names=("nosuch",)))
            _, writer = await asyncio.open_connection(node.host, node.port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            await until(lambda: node.metrics.closed, "it is closed")
            writer.close()

            told = await asyncio.to_thread(read, node.metrics_port)

            assert told["kwire_requests_total", "ClusterMetadataRequest"] == 3
            assert told["kwire_requests_total", "DeleteTopicRequest_V2"] == 1
            assert told["kwire_request_duration_seconds_count", "DeleteTopicRequest_V2"] == 1
            assert told["kwire_request_duration_seconds_bucket", "+Inf", "DeleteTopicRequest_V2"] == 1
            assert told["kwire_errors_total", "3", "DeleteTopicRequest_V2"] == 1
            assert told["kwire_connections_closed_total", "a frame of bytes"] == 1
            assert told["kwire_faults_total",] == 0
            assert told["kwire_is_controller",] == 1
            assert told["kwire_brokers",] == 1
            port = node.metrics_port
        with_nobody = None
        try:
            await asyncio.open_connection("127.0.0.1", port)
        except OSError as refused:
            with_nobody = refused
        assert with_nobody is not None, "the port of the metrics is closed with the node"

    run(scene())


def test_a_label_of_reasons_has_few_values() -> None:
    assert kind_of("a frame of 1213486160 bytes: between 0 and 100 are allowed") == "a frame of bytes"
    assert kind_of("idle for 600 s") == "idle for s"
