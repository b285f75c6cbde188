"""For those who test programs that speak Kafka's protocol.

strategies      random messages for Hypothesis, of any declaration
LocalCluster    ZooKeeper and nodes of kwire as real processes
FakeCluster     a server that answers Metadata for thousands of topics; it changes and misbehaves when told to
Misbehavior    what its brokers can do wrong
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.testing.fake_cluster import FakeCluster
    from kwire.testing.local_cluster import LocalCluster
    from kwire.testing.misbehavior import Misbehavior

__all__ = ["FakeCluster", "LocalCluster", "Misbehavior"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        modules = {"FakeCluster": "fake_cluster", "LocalCluster": "local_cluster", "Misbehavior": "misbehavior"}
        if name not in modules:
            raise AttributeError(f"module 'kwire.testing' has no attribute {name!r}")
        value = getattr(import_module(f"kwire.testing.{modules[name]}"), name)
        globals()[name] = value
        return value
