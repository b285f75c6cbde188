"""Columns that tables of silver have in common."""

from __future__ import annotations

from kwire.spark.tables import Column

REPORTED = (
    Column("cluster_id", "string", "the cluster; '' where no response contains its id"),
    Column("at", "timestamp", "when the response was received", "UTC"),
    Column("broker_id", "int", "the broker that reported it; -1 if unknown"),
)
CHANGE = Column(
    "change", "string", "'set': the new state; 'gone': no longer reported, and the other fields are the last known"
)
TOPIC = Column("topic", "string", "the topic's name")
PARTITION = Column("partition", "int", "the partition's number, from 0")
POLLER_ID = Column("poller_id", "string", "the poller that asked; null if unknown")
"""The last column of every table of silver."""
