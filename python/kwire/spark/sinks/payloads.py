"""The forms in which receivers of HTTP want notices, as values of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.spark.sinks.notice import rfc3339

if TYPE_CHECKING:
    from kwire.spark.sinks.notice import IncidentNotice


def alertmanager_payload(notice: IncidentNotice) -> dict[str, Any]:
    """Return a notice in the form of Alertmanager's webhooks."""
    labels, annotations = notice.labels, notice.annotations
    alert = {
        "status": str(notice.status),
        "labels": labels,
        "annotations": annotations,
        "startsAt": rfc3339(notice.incident["began_at"]),
        "endsAt": rfc3339(notice.incident["ended_at"]),
        "generatorURL": "",
        "fingerprint": notice.id,
    }
    return {
        "version": "4",
        "groupKey": f"kwire:{notice.id}",
        "truncatedAlerts": 0,
        "status": str(notice.status),
        "receiver": "kwire",
        "groupLabels": {"incident_id": notice.id},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [alert],
    }
