"""Tools for testing programs that speak the Kafka protocol. See docs/testing.md.

- `FakeCluster`: fake brokers that serve the metadata of thousands of topics, change, and misbehave on demand.
- `Misbehavior`: the protocol violations that they can commit.
- `ClusterState` and `ReceivedRequest`: what `FakeCluster.state` and `FakeCluster.requests` return.
- `SimulatedNetwork`: an event loop with a simulated clock, in which any address may be silent, slow, or forgetful.
- `kwire.testing.strategies`: Hypothesis strategies for messages.
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire.testing.cluster_state": ("ClusterState",),
    "kwire.testing.fake_broker": ("Misbehavior", "ReceivedRequest"),
    "kwire.testing.fake_cluster": ("FakeCluster",),
    "kwire.testing.simulated_network": ("NetworkFault", "SimulatedNetwork"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
