"""Tools for testing programs that speak the Kafka protocol. See docs/testing.md.

- `FakeCluster`: fake brokers that serve the metadata of thousands of topics, change, and misbehave on demand.
- `Misbehavior`: the protocol violations that they can commit.
- `ClusterState` and `ReceivedRequest`: what `FakeCluster.state` and `FakeCluster.requests` return.
- `LocalCluster`: a KIP-4 cluster of kwire nodes and ZooKeeper as processes.
- `kwire.testing.kafka`: real Kafka brokers as processes.
- `kwire.testing.strategies`: Hypothesis strategies for messages.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.testing.cluster_state import ClusterState
    from kwire.testing.fake_broker import ReceivedRequest
    from kwire.testing.fake_cluster import FakeCluster
    from kwire.testing.local_cluster import LocalCluster
    from kwire.testing.misbehavior import Misbehavior

__all__ = ["ClusterState", "FakeCluster", "LocalCluster", "Misbehavior", "ReceivedRequest"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        modules = {
            "ClusterState": "cluster_state",
            "FakeCluster": "fake_cluster",
            "LocalCluster": "local_cluster",
            "Misbehavior": "misbehavior",
            "ReceivedRequest": "fake_broker",
        }
        if name not in modules:
            raise AttributeError(f"module 'kwire.testing' has no attribute {name!r}")
        value = getattr(import_module(f"kwire.testing.{modules[name]}"), name)
        globals()[name] = value
        return value
