"""The verbs of kwire-zookeeper-tools: a package for each noun."""

from __future__ import annotations

from kwire_admin.operations.registry import Noun

NOUNS = {
    "tools": Noun(
        "List and run replacements of Kafka's smaller Java tools, on this machine or on a node of a KIP-4 cluster.",
        needs_asyncio=True,  # tools open ZooKeeper, processes, and clusters of their own
    ),
    "zookeeper": Noun(
        "Show pending work of the controller in ZooKeeper, and decode znodes (before Kafka 4.0).",
        needs_asyncio=True,  # sessions of ZooKeeper are tasks of asyncio
    ),
}
"""The nouns of kwire-zookeeper-tools by name."""
