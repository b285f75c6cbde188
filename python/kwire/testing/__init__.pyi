# Written by `python -m scripts.stubs`.

from kwire.testing.cluster_state import ClusterState as ClusterState
from kwire.testing.fake_broker import Misbehavior as Misbehavior
from kwire.testing.fake_broker import ReceivedRequest as ReceivedRequest
from kwire.testing.fake_cluster import FakeCluster as FakeCluster
from kwire.testing.simulated_network import NetworkFault as NetworkFault
from kwire.testing.simulated_network import SimulatedNetwork as SimulatedNetwork
