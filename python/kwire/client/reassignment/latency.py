"""Measure how long brokers take to answer a request for an offset, as clients send it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.client.admin.errors import AdminError
from kwire.client.admin.group_values import LATEST, TopicPartition
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from kwire.client.admin.admin_client import AdminClient
    from kwire.reassign.snapshot import ClusterSnapshot

__all__ = ["measure_latencies"]


async def measure_latencies(admin: AdminClient, snapshot: ClusterSnapshot) -> dict[int, float]:
    """Return seconds by broker that leads a partition. Brokers that do not answer are left out."""
    led: dict[int, TopicPartition] = {}
    for each in snapshot.partitions:
        if each.leader is not None:
            led.setdefault(each.leader, TopicPartition(each.topic, each.partition))
    loop = asyncio.get_running_loop()
    found = {}
    for broker, partition in led.items():
        before = loop.time()
        try:
            answers = await admin.list_offsets({partition: LATEST})
        except ConnectionFault:
            continue
        if not isinstance(answers[partition], AdminError):
            found[broker] = loop.time() - before
    return found
