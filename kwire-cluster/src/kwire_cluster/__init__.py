"""A KIP-4 cluster on ZooKeeper: Kafka's znodes, the controller, and the nodes."""

from __future__ import annotations

from kwire._util.late_names import late_names

__version__ = "0.1.0"

_MODULES = {"kwire_cluster.local.local_cluster": ("LocalCluster",)}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
