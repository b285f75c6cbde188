"""Tools for testing programs that speak the Kafka protocol. See docs/testing.md.

- `FakeCluster`: fake brokers that serve the metadata of thousands of topics, change, and misbehave on demand.
- `Misbehavior`: the protocol violations that they can commit.
- `ClusterState` and `ReceivedRequest`: what `FakeCluster.state` and `FakeCluster.requests` return.
- `LocalCluster`: a KIP-4 cluster of kwire nodes and ZooKeeper as processes.
- `kwire.testing.kafka`: real Kafka brokers as processes.
- `kwire.testing.strategies`: Hypothesis strategies for messages.
"""

from __future__ import annotations

from kwire.late_names import late_names

__all__ = ["ClusterState", "FakeCluster", "LocalCluster", "Misbehavior", "ReceivedRequest"]

__getattr__, __dir__ = late_names(__name__)
