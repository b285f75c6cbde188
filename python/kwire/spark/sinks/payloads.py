"""The forms in which receivers of HTTP want notices, as values of JSON."""

from __future__ import annotations

import re
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


def postable_alert(notice: IncidentNotice) -> dict[str, Any]:
    """Return a notice as a `postableAlert` of Alertmanager's API v2.

    A firing alert has no `endsAt`, so the clock and the `resolve_timeout` of Alertmanager decide when it ends unless it
    is repeated. Attributes of an incident become annotations with names that every version of Alertmanager accepts.
    """
    alert = {
        "labels": notice.labels,
        "annotations": {_label_name(name): text for name, text in notice.annotations.items()},
        "startsAt": rfc3339(notice.incident["began_at"]),
    }
    if notice.status == "resolved":
        alert["endsAt"] = rfc3339(notice.incident["ended_at"])
    return alert


def _label_name(name: str) -> str:
    """Return a valid name of a label of Prometheus."""
    return re.sub(r"^(?=[0-9])|[^A-Za-z0-9_]", "_", name)
