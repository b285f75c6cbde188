"""Sinks of incidents: new and ended incidents of a live pipeline, sent to a webhook, a Kafka topic, metrics, or Python.

`IncidentPublisher` compares gold's `incidents` with what each sink has received, and calls the sinks with
`IncidentNotice`s. docs/live.md describes them.
"""

from __future__ import annotations

from kwire.spark.sinks.ledger import Ledger
from kwire.spark.sinks.notice import IncidentNotice, NoticeStatus, Severity
from kwire.spark.sinks.publisher import IncidentPublisher
from kwire.spark.sinks.sink import IncidentSink, SinkFailed
from kwire.spark.sinks.subscription import IncidentFilter, Subscription

__all__ = [
    "IncidentFilter",
    "IncidentNotice",
    "IncidentPublisher",
    "IncidentSink",
    "Ledger",
    "NoticeStatus",
    "Severity",
    "SinkFailed",
    "Subscription",
]
