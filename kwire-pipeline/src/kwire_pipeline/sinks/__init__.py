"""Sinks of incidents: new and ended incidents of a live pipeline, sent to a webhook, a Kafka topic, metrics, or Python.

`IncidentPublisher` compares gold's `incidents` with what each sink has received, and calls the sinks with
`IncidentNotice`s. docs/live.md describes them.
"""

from __future__ import annotations

from kwire_pipeline.sinks.ledger import Ledger
from kwire_pipeline.sinks.notice import IncidentNotice, NoticeStatus, Severity
from kwire_pipeline.sinks.publisher import IncidentPublisher
from kwire_pipeline.sinks.sink import IncidentSink, SinkFailed
from kwire_pipeline.sinks.subscription import IncidentFilter, Subscription

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
